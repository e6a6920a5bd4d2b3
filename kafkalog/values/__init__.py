"""Keys and values as what they mean: numbers, texts, JSON, and those whose schemas a registry keeps.

Whatever cannot be decoded is an `Undecoded` with the reason: bytes are hostile input, and so are schemas. What decodes
Avro and Protobuf is imported when it is asked for: the extra `schemas`.
"""
