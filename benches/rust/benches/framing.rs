//! Bytes to frames.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use penstock_benches::{READ_BYTES, samples};
use penstock_core::{Limits, SseFramer};

/// How many bytes of data a stream has.
fn frame(stream: &[u8], read_bytes: usize) -> usize {
    let mut framer = SseFramer::new(Limits::default().frame_bytes);
    let mut total = 0;
    for read in stream.chunks(read_bytes) {
        framer.feed(read);
        while let Ok(Some(frame)) = framer.next_frame() {
            total += frame.data.len();
        }
    }
    total
}

fn framing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("framing");
    for sample in samples() {
        group.throughput(Throughput::Bytes(sample.bytes()));
        for read_bytes in READ_BYTES {
            group.bench_with_input(BenchmarkId::new(sample.name, read_bytes), &read_bytes, |bencher, &read_bytes| {
                bencher.iter(|| sample.streams.iter().map(|stream| frame(stream, read_bytes)).sum::<usize>());
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = framing
}
criterion_main!(benches);
