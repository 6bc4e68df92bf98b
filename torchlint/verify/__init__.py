"""The runtime verifier: runs each rule's programs and measures that what is said to leak leaks, and nothing else does.

Which module does what, from the process the user started to the one that measures::

    programs      what a folder of programs holds, and what each says of itself
    pool          sends runs to measuring processes (torch is not imported up to here)
    server        a measuring process: forks a child for each run, or runs them itself
    execution     one run, from its file to its outcome; limits keep it from taking the machine with it
    harness       calls a program with a loader that is the probe, between whose batches the probes look
    probes/       one module for each thing that can be kept or wasted
    results       what a program returns, so that a repair can be shown to change nothing
    verdict       from figures to "leaks" or "does not", with the sentence that explains it
    verification  the whole way for one folder: programs, runs, verdicts
    output/       the same as a table, as JSON, as JUnit, as a picture
    record        measured.json
"""
