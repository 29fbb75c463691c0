//! Bytes to blocks: framing, decoding, the block machine and the blocks' text.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use penstock_benches::{READ_BYTES, samples};
use penstock_core::{Blocks, Error, Grain, Limits, Mode, Session};

fn read_blocks(stream: &[u8], read_bytes: usize) -> Result<Blocks, Error> {
    let mut session = Session::new(None, Mode::Lenient, Grain::Chunk, Limits::default());
    let mut blocks = Blocks::default();
    for read in stream.chunks(read_bytes) {
        session.feed(read);
        while session.next_piece(&mut blocks)?.is_some() {}
    }
    while session.finish(&mut blocks)?.is_some() {}
    Ok(blocks)
}

fn blocks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("blocks");
    for sample in samples() {
        group.throughput(Throughput::Bytes(sample.bytes()));
        for read_bytes in READ_BYTES {
            group.bench_with_input(BenchmarkId::new(sample.name, read_bytes), &read_bytes, |bencher, &read_bytes| {
                bencher.iter(|| {
                    let blocks = sample.streams.iter().map(|stream| read_blocks(stream, read_bytes));
                    blocks.collect::<Result<Vec<_>, _>>()
                });
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = blocks
}
criterion_main!(benches);
