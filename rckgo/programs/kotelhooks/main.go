// Program kotelhooks has franz-go's plug-in for OpenTelemetry measure and trace
// a client, and prints what came of that.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kotel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	metrics := metric.NewManualReader()
	spans := tracetest.NewSpanRecorder()
	tracer := kotel.NewTracer(
		kotel.TracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(spans))),
		kotel.ConsumerGroup(job.Group))
	meter := kotel.NewMeter(kotel.MeterProvider(metric.NewMeterProvider(metric.WithReader(metrics))))
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumerGroup(job.Group),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.WithHooks(kotel.NewKotel(kotel.WithTracer(tracer), kotel.WithMeter(meter)).Hooks()...),
	)
	if err != nil {
		log.Fatal(err)
	}
	read(ctx, client, job, tracer)
	client.LeaveGroup()
	if err := report(ctx, metrics, spans); err != nil {
		log.Fatal(err)
	}
	client.Close()
}

// read works on every record within a span of its own.
func read(ctx context.Context, client *kgo.Client, job task.Task, tracer *kotel.Tracer) {
	for total := 0; total < job.Records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatalf("after %d records: %v", total, err)
		}
		total += fetches.NumRecords()
		fetches.EachRecord(func(r *kgo.Record) {
			_, span := tracer.WithProcessSpan(r)
			defer span.End()
			fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
		})
	}
	wait, stop := context.WithTimeout(ctx, job.Quiet)
	defer stop()
	if more := client.PollFetches(wait).NumRecords(); more > 0 {
		log.Fatalf("%d records more than there should be", more)
	}
}

// report prints which instruments counted something, and how many spans of
// which kind ended.
func report(ctx context.Context, metrics metric.Reader, spans *tracetest.SpanRecorder) error {
	var collected metricdata.ResourceMetrics
	if err := metrics.Collect(ctx, &collected); err != nil {
		return err
	}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				return fmt.Errorf("instrument %s is a %T", m.Name, m.Data)
			}
			total := int64(0)
			for _, point := range sum.DataPoints {
				total += point.Value
			}
			fmt.Printf("~ instrument %s: %d\n", m.Name, total)
			if !strings.Contains(m.Name, "errors") && !strings.Contains(m.Name, "disconnects") { // not two runs are alike in these
				fmt.Printf("# instrument %s counted: %v\n", m.Name, total > 0)
			}
		}
	}
	ended := map[string]int{}
	for _, span := range spans.Ended() {
		ended[span.Name()]++
	}
	for name, n := range ended {
		fmt.Printf("# spans %s: %d\n", name, n)
	}
	return nil
}
