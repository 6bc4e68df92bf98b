"""The rules of torchlint: one file a rule, found by its file name; nothing else stands here."""
