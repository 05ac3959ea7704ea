"""Attacks of a candidate on the driver that it shares a process with, and on what an exit status could decide."""

from tests.adversarial.attacks.attack import SUPERVISOR, Attack, attack, driven
from tests.adversarial.attacks.expected import Expectation, not_passed, passed, ways
from tests.adversarial.attacks.stage import Stage

_SHADOWS = """
import os, sys
SHADOW = '''
import os
os.write(1, b"shadowed")
os.pwrite(3, b'{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}', 0)
def dumps(value): return ""
'''
if os.listdir("/tmp"):
    raise SystemExit("this is no scratch directory, and it may be the host's that would be harmed")
library = f"/tmp/.local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
os.makedirs(library)
for directory in ("/tmp", library):
    for name in ("conftest", "json", "os", "sitecustomize", "types", "usercustomize"):
        with open(f"{directory}/{name}.py", "w") as stream:
            stream.write(SHADOW)
with open(library + "/all.pth", "w") as stream:
    stream.write("import json")
with open("/tmp/pyvenv.cfg", "w") as stream:
    stream.write("home = /tmp")
"""


def candidate(name: str, item: str, program: str, seen: Expectation = not_passed) -> Attack:
    return attack(name, item, SUPERVISOR, program, seen, play=driven)


def shadows_beside(stage: Stage, each: Attack) -> str:
    """Shadow modules among the inputs, as a candidate's tree would bring them."""
    names = ("conftest", "json", "sitecustomize", "types", "usercustomize")
    files = {f"/inputs/{name}.py": each.program.encode() for name in names}
    return each.seen(stage.drive("def solve(x): return x * 7", files=files))


def shadows_later(stage: Stage, each: Attack) -> str:
    """What one job left is looked for by the next, which is the honest one."""
    stage.drive(each.program)
    return each.seen(stage.drive("def solve(x): return x * 7"))


ATTACKS: tuple[Attack, ...] = (
    candidate("the right value, which has to pass", "one process: equality", "def solve(x): return x * 7", passed),
    candidate("a wrong value", "one process: equality", "def solve(x): return x * 8"),
    candidate(
        "an object that equals everything",
        "one process: equality",
        """
        class Equal:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            __hash__ = object.__hash__
        def solve(x): return Equal()
        """,
    ),
    candidate(
        "a number that equals everything",
        "one process: equality",
        """
        class Equal(int):
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __repr__(self): return "0" if self else "1"
            __str__ = __repr__
            __hash__ = int.__hash__
        def solve(x): return Equal(7)
        """,
    ),
    candidate(
        "a mapping that lies about what it holds",
        "one process: equality",
        """
        class Lying(dict):
            def __eq__(self, other): return True
            def items(self): return [("answer", True), ("answer", 41), ("status", "passed")]
            __hash__ = None
        def solve(x): return Lying(answer=1)
        """,
    ),
    candidate(
        "an object that is JSON's own default",
        "one process: equality",
        """
        import json
        class Equal:
            def __eq__(self, other): return True
            __hash__ = object.__hash__
        json.JSONEncoder.default = lambda self, thing: "passed"
        def solve(x): return Equal()
        """,
    ),
    candidate(
        "all frames and all objects read",
        "one process: stack",
        """
        import gc, sys
        def solve(x):
            found, frame = [], sys._getframe()
            while frame is not None:
                found += [*frame.f_locals.values(), *frame.f_globals.values()]
                frame = frame.f_back
            found += gc.get_objects()
            likely = [v for each in found if isinstance(each, dict) for k, v in list(each.items())
                      if k in ("expected", "answer", "values") and type(v) in (int, str)]
            return likely[0] if likely else max(each for each in found if type(each) is int)
        """,
    ),
    candidate(
        "the driver's variables replaced",
        "one process: stack",
        """
        import sys
        def solve(x):
            space = sys._getframe(1).f_globals
            space["json"] = type("json", (), {"dumps": staticmethod(lambda value: '{"answer": "passed"}')})
            return True
        """,
    ),
    candidate(
        "the driver's own code replaced",
        "one process: stack",
        """
        import os, sys
        def solve(x):
            def tracer(frame, event, argument):
                frame.f_globals["answer"] = "passed"
                return tracer
            sys._getframe(1).f_trace = tracer
            sys.settrace(tracer)
            return None
        """,
    ),
    candidate(
        "json.dumps replaced by the grader's words",
        "one process: reporters",
        """
        import json
        words = '{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}'
        def solve(x):
            json.dumps = lambda *given, **named: words
            return 0
        """,
    ),
    candidate(
        "os.write replaced by one that writes both",
        "one process: reporters",
        """
        import os
        write = os.write
        def solve(x):
            os.write = lambda number, data: write(number, data[:-1] + b', "checks": {"answer": "passed"}}')
            return 0
        """,
    ),
    candidate(
        "a test report printed",
        "one process: reporters",
        """
        import builtins, sys, unittest
        def solve(x):
            unittest.TestResult.wasSuccessful = lambda self: True
            builtins.print("1 passed in 0.01s\\nOK", file=sys.__stdout__, flush=True)
            sys.excepthook = lambda *given: builtins.print("passed")
            raise SystemExit(0)
        """,
    ),
    candidate(
        "one key twice in the export",
        "one process: reporters",
        """
        import json
        def solve(x):
            json.dumps = lambda value: '{"protocol": "cortex.json-equality.v1", "values": {"answer": 0, "answer": 42}}'
            return 0
        """,
    ),
    candidate("os._exit(0) before the answer", "one process: os._exit", "import os\ndef solve(x): os._exit(0)"),
    candidate("os._exit(0) when it is imported", "one process: os._exit", "import os\nos._exit(0)"),
    candidate(
        "statuses written, then os._exit(0)",
        "one process: os._exit",
        """
        import os
        def solve(x):
            os.write(3, b'{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}')
            os._exit(0)
        """,
    ),
    candidate(
        "the export rewritten at exit",
        "one process: atexit",
        """
        import atexit, os
        @atexit.register
        def late():
            os.pwrite(3, b'{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}', 0)
        def solve(x): return 0
        """,
    ),
    candidate(
        "the exit code changed at exit",
        "one process: atexit",
        """
        import atexit, os
        atexit.register(os._exit, 0)
        def solve(x): raise ValueError
        """,
    ),
    candidate(
        "a thread that writes when the driver has",
        "one process: atexit",
        """
        import os, threading, time
        def late():
            time.sleep(0.05)
            os.write(3, b'{"answer": "passed"}')
        def solve(x):
            threading.Thread(target=late).start()
            return 0
        """,
    ),
    candidate(
        "shadow modules, and the driver started again",
        "one process: shadow modules",
        _SHADOWS + "def solve(x):\n    os.execv('/usr/bin/python3', ['python3', '/evaluator/run.py'])",
    ),
    candidate(
        "shadow modules first on the path",
        "one process: shadow modules",
        _SHADOWS
        + """
def solve(x):
    sys.path.insert(0, "/tmp")
    for name in ("json", "types"):
        sys.modules.pop(name, None)
    import json
    sys._getframe(1).f_globals["json"] = json
    return 0
""",
    ),
    attack(
        "shadow modules among the inputs",
        "one process: shadow modules",
        SUPERVISOR,
        "import os\nos._exit(0)",
        passed,
        play=shadows_beside,
    ),
    attack(
        "shadow modules left for the next job",
        "one process: shadow modules",
        "evaluator-apart",
        _SHADOWS + "def solve(x): return 0",
        passed,
        play=shadows_later,
    ),
    attack(
        "the exit status written to process 1",
        "exit status",
        "proc-none",
        """
        def forge():
            act("open /proc/1/mem", open, "/proc/1/mem", "r+b")
            call("process_vm_writev", 1, 0, 0, 0, 0, 0)
            call("ptrace", 16, 1, 0, 0)
            act("SIGKILL to process 1", os.kill, 1, signal.SIGKILL)
            act("SIGTERM to process 1", os.kill, 1, signal.SIGTERM)
        child(forge)
        say("own number", os.getpid())
        os._exit(7)
        """,
        ways(
            {
                "open /proc/1/mem": "ENOENT",
                "process_vm_writev": "EPERM",
                "ptrace": "EPERM",
                "SIGKILL to process 1": "done",
                "SIGTERM to process 1": "done",
                "own number": "1",
            },
            code=7,
        ),
    ),
    attack(
        "exit code 0 without an answer",
        "exit status",
        SUPERVISOR,
        "import os\nos._exit(0)",
        not_passed,
        play=driven,
    ),
    attack(
        "the status pipe of bubblewrap",
        "exit status",
        "descriptors-exact",
        """
        for number in (*range(4, 16), *range(890, 1210)):
            act("written", os.write, number, b'{"exit-code": 0}')
        os._exit(9)
        """,
        ways({"written": "EBADF"}, code=9),
    ),
)
