"""Write the records of `kafkalog extract -o FILE.ndjson` to a broker again, as they were.

python replay.py FILE.ndjson HOST:PORT [TOPIC]      (needs confluent-kafka; TOPIC instead of the records' own)
"""

import base64
import json
import sys

from confluent_kafka import Producer


def field(row, name):
    if row[f"{name}_base64"] is not None:
        return base64.b64decode(row[f"{name}_base64"])
    return None if row[name] is None else row[name].encode()


def main(file, bootstrap, topic=None):
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.max.bytes": 1 << 29})
    failed = []
    number = 0
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            number += 1
            headers = [(field(one, "key").decode(), field(one, "value")) for one in row["headers"]]
            while True:
                try:
                    producer.produce(
                        topic or row["topic"], field(row, "value"), field(row, "key"), partition=row["partition"],
                        timestamp=max(row["timestamp_ms"], 0), headers=headers,
                        on_delivery=lambda error, _: error and failed.append(error),
                    )  # fmt: skip
                    break
                except BufferError:  # as many as it holds wait for the broker
                    producer.poll(1)
            producer.poll(0)
    producer.flush()
    if failed:
        sys.exit(f"{len(failed)} of {number} records were not written, the first: {failed[0]}")
    print(f"{number} records written")


main(*sys.argv[1:])
