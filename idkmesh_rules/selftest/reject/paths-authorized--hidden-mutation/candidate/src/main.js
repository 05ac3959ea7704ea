say('hello')
