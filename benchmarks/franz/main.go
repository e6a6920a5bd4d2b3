// Reads every record of a segment with franz-go, as a client reads what a broker sends, and prints what it took as the
// other candidates do. A small file is read first, untimed.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func usage() syscall.Rusage {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used
}

func cpu() float64 {
	used := usage()
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func read(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	partition := kmsg.NewFetchResponseTopicPartition()
	partition.RecordBatches = data
	options := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Topic: "topic"}
	found, _ := kgo.ProcessFetchPartition(options, &partition, kgo.DefaultDecompressor(), nil)
	if found.Err != nil {
		panic(found.Err)
	}
	size := 0
	for _, record := range found.Records {
		size += len(record.Key) + len(record.Value) + len(record.Headers)
	}
	return size
}

func main() {
	read(os.Args[2])
	started, before := time.Now(), cpu()
	read(os.Args[1])
	said, err := json.Marshal(map[string]any{
		"seconds": time.Since(started).Seconds(), "cpu_seconds": cpu() - before, "peak_rss": usage().Maxrss << 10,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(said))
}
