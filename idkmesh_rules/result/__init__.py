"""From a decision to what is handed over: the VerificationResult, evidence documents, and the output directory."""
