// Scattered rows of host memory into contiguous device memory, in three ways.
#include <algorithm>
#include <bit>
#include <numeric>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr std::size_t kMostPieces = 4096;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

struct GatherCase {
  std::string method;
  std::size_t row_bytes = 0;
};

/// Everything that one gather works on.
struct Rows {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::vector<std::uint32_t> rows;
  std::size_t row_bytes = 0;
};

void copy_each(const Rows& r, const Stream& stream) {
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    check(cudaMemcpyAsync(r.to + i * r.row_bytes, r.from + r.rows[i] * r.row_bytes, r.row_bytes, cudaMemcpyHostToDevice,
                          stream.get()));
  }
}

#if CUDART_VERSION >= 12080
constexpr bool kHasBatches = true;
void copy_batch(const Rows& r, const Stream& stream) {
  const std::size_t count = r.rows.size();
  std::vector<void*> to(count);
  std::vector<void*> from(count);
  std::vector<std::size_t> sizes(count, r.row_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = r.to + i * r.row_bytes;
    from[i] = const_cast<std::byte*>(r.from + r.rows[i] * r.row_bytes);  // the older interface takes no const
  }
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  check(cudaMemcpyBatchAsync(to.data(), const_cast<const void**>(from.data()), sizes.data(), count, &attributes, &first,
                             1, stream.get()));
#else
  std::size_t failed = 0;
  check(
      cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count, &attributes, &first, 1, &failed, stream.get()));
#endif
}
#else
constexpr bool kHasBatches = false;
void copy_batch(const Rows&, const Stream&) {}
#endif

}  // namespace

CsvFile bench_gather(Session& session) {
  CsvFile file([] {
    auto columns = with_spread({"gpu", "version", "method", "row_bytes", "rows"});
    columns.emplace_back("gb_per_s");
    return columns;
  }());
  const std::size_t source_bytes = std::bit_floor(std::min(4 * kMostBytes, Session::usable_host_bytes()));
  const PinnedBuffer source(source_bytes);
  fill_host(source.get(), source_bytes, session.arguments.seed);
  const DeviceBuffer<std::byte> target(std::min(kMostBytes, source_bytes));
  const DeviceBuffer<std::uint32_t> device_rows(kMostPieces);

  std::vector<GatherCase> cases;
  for (const std::int64_t bytes : sizes_between(128, 1 << 20, session.arguments.quick)) {
    for (const char* method : {"copy_each", "copy_batch", "mapped_kernel"}) {
      cases.push_back({method, static_cast<std::size_t>(bytes)});
    }
  }
  if (!kHasBatches) {
    std::erase_if(cases, [](const GatherCase& c) { return c.method == "copy_batch"; });
    session.note("gather", "this CUDA runtime has no batched copies");
  }
  session.run_cases("gather", cases, [&](const GatherCase& c) {
    Rows r{source.get(), target.get(), {}, c.row_bytes};
    std::vector<int> order =
        random_page_table(static_cast<std::int64_t>(source_bytes / c.row_bytes), session.arguments.seed);
    order.resize(std::min({order.size(), kMostPieces, target.size() / c.row_bytes}));
    r.rows.assign(order.begin(), order.end());
    device_rows.upload(r.rows);
    const auto work = [&](const Stream& stream) {
      if (c.method == "copy_each") copy_each(r, stream);
      if (c.method == "copy_batch") copy_batch(r, stream);
      if (c.method == "mapped_kernel") {
        gather_rows(r.to, source.on_device(), device_rows.get(), r.rows.size(), r.row_bytes, session.blocks(), stream);
      }
    };
    check(cudaMemsetAsync(target.get(), 0, target.size(), session.timer.stream().get()));
    work(session.timer.stream());
    const auto got = target.download(0, r.rows.size() * c.row_bytes);
    for (std::size_t i = 0; i < r.rows.size(); ++i) {
      expect_same(got.data() + i * c.row_bytes, source.get() + r.rows[i] * c.row_bytes, c.row_bytes,
                  fmt::format("{} of rows of {} bytes", c.method, c.row_bytes));
    }
    const Spread spread = session.timer.time(work, Caches::cold);
    file.add(CsvRow(session.gpu, session.version, c.method, c.row_bytes, r.rows.size(), spread,
                    static_cast<double>(r.rows.size() * c.row_bytes) / spread.median / 1e6));
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
