// Top-k over attention scores: a row for each KV head of each request.
#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/host/reference.h"

namespace kvsim::calibrate {
namespace {

struct TopkCase {
  std::int64_t rows = 1;
  std::int64_t columns = 4096;
  std::int64_t k = 256;
};

void verify(const TopkCase& c, const DeviceBuffer<float>& scores, const DeviceBuffer<int>& indices) {
  for (const std::int64_t row : {std::int64_t{0}, c.rows - 1}) {
    const auto values = scores.download(static_cast<std::size_t>(row * c.columns), static_cast<std::size_t>(c.columns));
    const auto found = indices.download(static_cast<std::size_t>(row * c.k), static_cast<std::size_t>(c.k));
    const std::string wrong = check_topk(values, found);
    if (!wrong.empty()) {
      throw WrongResult(fmt::format("{} rows of {}, k {}: row {}: {}", c.rows, c.columns, c.k, row, wrong));
    }
  }
}

}  // namespace

CsvFile bench_topk(Session& session) {
  CsvFile file(with_spread({"gpu", "version", "kernel", "rows", "columns", "k"}));
  const bool quick = session.arguments.quick;
  std::vector<TopkCase> cases;
  for (const std::int64_t rows : sizes_between(1, 512, true)) {
    for (const std::int64_t columns : sizes_between(4096, 131072, quick)) {
      for (const std::int64_t k : sizes_between(64, 4096, true)) {
        if (k < columns) cases.push_back({rows, columns, k});
      }
    }
  }
  session.run_cases("topk", cases, [&](const TopkCase& c) {
    const auto all = static_cast<std::size_t>(c.rows * c.columns);
    const auto found = static_cast<std::size_t>(c.rows * c.k);
    if (all * sizeof(float) + found * sizeof(int) > session.usable_bytes()) return false;
    const DeviceBuffer<float> scores(all);
    const DeviceBuffer<int> indices(found);
    const Stream& stream = session.timer.stream();
    fill_scores(scores.get(), all, session.arguments.seed, stream.get());
    check(cudaMemsetAsync(indices.get(), 0xff, found * sizeof(int), stream.get()));
    const auto work = [&](const Stream& s) {
      select_topk(scores.get(), indices.get(), c.rows, static_cast<int>(c.columns), static_cast<int>(c.k), s.get());
    };
    work(stream);
    verify(c, scores, indices);
    file.add(CsvRow(session.gpu, session.version, "kvsim_radix", c.rows, c.columns, c.k,
                    session.timer.time(work, Caches::cold)));
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
