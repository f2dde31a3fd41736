// Collectives between the GPUs of this machine, by NCCL: a thread for each of them replays a graph of many in a row, as
// a captured step has them.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/host/nccl.h"
#include "tools/calibrate/host/reference.h"
#include "tools/calibrate/host/rounds.h"

namespace kvsim::calibrate {
namespace {

/// Selects a device for the calling thread, until this goes.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_));
    check(cudaSetDevice(device));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { static_cast<void>(cudaSetDevice(before_)); }

 private:
  int before_ = 0;
};

/// Buffers that one GPU sends from and receives into.
struct Messages {
  DeviceBuffer<Bf16> send, receive;
};

/// The first thing that went wrong on any thread.
class FirstError {
 public:
  template <class Work>
  void guard(const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (text_.empty()) text_ = error.what();
    }
  }
  [[nodiscard]] bool any() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !text_.empty();
  }
  /// Throws WrongResult where there is one.
  void report() const {
    if (!text_.empty()) throw WrongResult(text_);
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

/// Collectives in a graph: launching and waiting for it is then little of their time.
int in_a_row(const CollectiveCase& c) {
  constexpr std::int64_t kShort = std::int64_t{1} << 20;
  constexpr int kMany = 200, kFew = 10;
  return c.elements < kShort ? kMany : kFew;
}

/// One GPU's thread.
class Rank {
 public:
  Rank(const Nccl::Group& group, const CollectiveCase& c, int rank, const Messages& messages, std::uint64_t seed,
       FirstError& error)
      : group_(group), c_(c), rank_(rank), messages_(messages), seed_(seed), error_(error) {}

  void prepare(std::uint64_t round) {
    if (round > 0) return;
    error_.guard([&] {
      calibrate::check(cudaSetDevice(rank_));
      stream_.emplace();
      run_once(*stream_);
      stream_->synchronise();
      verify();
      graph_.emplace(*stream_, [&](const Stream& stream) {
        for (int i = 0; i < in_a_row(c_); ++i) run_once(stream);
      });
    });
  }
  void run() {
    if (error_.any()) return;  // of whichever rank: the others would wait for it
    error_.guard([&] {
      graph_->launch(*stream_);
      stream_->synchronise();
    });
  }
  void check() {}

 private:
  void run_once(const Stream& stream) const {
    group_.run(c_.operation, rank_, messages_.send.get(), messages_.receive.get(),
               static_cast<std::size_t>(c_.elements), stream.get());
  }
  void verify() const {
    constexpr std::size_t kChecked = 16;
    const std::int64_t received =
        c_.operation == models::Collective::reduce_scatter ? c_.elements / c_.gpus : c_.elements;
    for (const std::int64_t first : {std::int64_t{0}, received - static_cast<std::int64_t>(kChecked)}) {
      std::vector<float> got;
      std::vector<double> expected;
      for (const Bf16 value : messages_.receive.download(static_cast<std::size_t>(first), kChecked)) {
        got.push_back(from_bf16(value));
        expected.push_back(collective_element(c_, rank_, first + static_cast<std::int64_t>(expected.size()), seed_));
      }
      constexpr double tolerance = 0.02;
      const std::string wrong = compare_row(got, expected, tolerance);
      if (!wrong.empty()) {
        throw WrongResult(fmt::format("{} of {} elements over {} GPUs, rank {}: {}", models::word(c_.operation),
                                      c_.elements, c_.gpus, rank_, wrong));
      }
    }
  }

  const Nccl::Group& group_;
  const CollectiveCase& c_;
  int rank_;
  const Messages& messages_;
  std::uint64_t seed_;
  FirstError& error_;
  std::optional<Stream> stream_;
  std::optional<Graph> graph_;
};

/// GPUs from 0 on that are like the first one.
int gpus_alike() {
  int count = 0, alike = 0;
  check(cudaGetDeviceCount(&count));
  cudaDeviceProp first{};
  check(cudaGetDeviceProperties(&first, 0));
  for (; alike < count; ++alike) {
    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, alike));
    if (device.name != std::string(first.name)) break;
  }
  return alike;
}

}  // namespace

CsvFile bench_collectives(Session& session) {
  CsvFile file({"version", "device", "op_name", "nccl_dtype", "num_gpus", "message_size", "latency", "p10_ms", "p90_ms",
                "repeats"});  // as published tables have them, in milliseconds
  const int gpus = gpus_alike();
  if (gpus < 2) {
    session.note("collectives", "left out: there is one GPU, or the first two are not alike");
    return file;
  }
  std::string why;
  const std::unique_ptr<Nccl> nccl = Nccl::open(why);
  if (!nccl) {
    session.note("collectives", "left out: " + why);
    return file;
  }
  std::vector<CollectiveCase> cases = collective_cases(gpus, session.arguments.quick);
  std::size_t room = session.usable_bytes();
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const OnDevice here(gpu);
    room = std::min(room, session.usable_bytes());
  }
  const auto most = static_cast<std::int64_t>(room / (4 * sizeof(Bf16)));
  std::erase_if(cases, [most](const CollectiveCase& c) { return c.elements > most; });
  std::int64_t longest = 0;
  for (const CollectiveCase& c : cases) longest = std::max(longest, c.elements);
  std::vector<Messages> messages;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const OnDevice here(gpu);
    const Stream stream;
    const auto elements = static_cast<std::size_t>(longest);
    messages.push_back({DeviceBuffer<Bf16>(elements), DeviceBuffer<Bf16>(elements)});
    fill_values(messages.back().send.get(), elements, session.arguments.seed + static_cast<std::uint64_t>(gpu), stream);
    stream.synchronise();
  }
  std::map<int, Nccl::Group> groups;
  session.run_cases("collectives", cases, [&](const CollectiveCase& c) {
    const Nccl::Group& group = groups.try_emplace(c.gpus, *nccl, c.gpus).first->second;
    FirstError error;
    Spread spread = time_rounds(c.gpus, [&](int rank) {
      return Rank(group, c, rank, messages[static_cast<std::size_t>(rank)], session.arguments.seed, error);
    });
    error.report();
    for (double* const ms : {&spread.median, &spread.p10, &spread.p90}) *ms /= in_a_row(c);
    file.add(CsvRow(nccl->version(), session.gpu, models::word(c.operation), "bfloat16", c.gpus, c.elements, spread));
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
