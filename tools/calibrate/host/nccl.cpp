#include "tools/calibrate/host/nccl.h"

#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "tools/calibrate/host/library.h"

namespace kvsim::calibrate {
namespace {

// The part of nccl.h that is used, whose interface is kept from version to version.
constexpr int kNcclSuccess = 0;
constexpr int kSum = 0;
constexpr int kBf16 = 9;
constexpr std::size_t kElementBytes = 2;

}  // namespace

struct Nccl::Functions {
  Library library;
  int (*version)(int*) = nullptr;
  const char* (*error)(int) = nullptr;
  int (*init)(void**, int, const int*) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, void*, void*) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*send)(const void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*begin_group)() = nullptr;
  int (*end_group)() = nullptr;

  void check(int status, const char* call) const {
    if (status != kNcclSuccess) throw std::runtime_error(fmt::format("NCCL: {} failed: {}", call, error(status)));
  }
};

Nccl::Nccl(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Nccl::~Nccl() = default;

std::unique_ptr<Nccl> Nccl::open(std::string& why, const char* library) {
  auto f = std::make_unique<Functions>();
  std::string reason;
  if (!f->library.open(library, reason, true)) {
    why = fmt::format("{} is not there ({})", library, reason);
    return nullptr;
  }
  const bool all = f->library.find("ncclGetVersion", f->version) && f->library.find("ncclGetErrorString", f->error) &&
                   f->library.find("ncclCommInitAll", f->init) && f->library.find("ncclCommDestroy", f->destroy) &&
                   f->library.find("ncclAllReduce", f->all_reduce) && f->library.find("ncclAllGather", f->all_gather) &&
                   f->library.find("ncclReduceScatter", f->reduce_scatter) && f->library.find("ncclSend", f->send) &&
                   f->library.find("ncclRecv", f->receive) && f->library.find("ncclGroupStart", f->begin_group) &&
                   f->library.find("ncclGroupEnd", f->end_group);
  if (!all) {
    why = fmt::format("{} lacks functions", library);
    return nullptr;
  }
  return std::unique_ptr<Nccl>(new Nccl(std::move(f)));
}

std::string Nccl::version() const {
  int number = 0;
  functions_->check(functions_->version(&number), "ncclGetVersion");
  constexpr int kMajor = 10000, kMinor = 100;
  return fmt::format("{}.{}.{}", number / kMajor, number % kMajor / kMinor, number % kMinor);
}

Nccl::Group::Group(const Nccl& nccl, int gpus) : nccl_(nccl), communicators_(static_cast<std::size_t>(gpus), nullptr) {
  std::vector<int> devices(communicators_.size());
  std::iota(devices.begin(), devices.end(), 0);
  const Functions& f = *nccl_.functions_;
  f.check(f.init(communicators_.data(), gpus, devices.data()), "ncclCommInitAll");
}

Nccl::Group::~Group() {
  for (void* const communicator : communicators_) static_cast<void>(nccl_.functions_->destroy(communicator));
}

void Nccl::Group::run(models::Collective operation, int rank, const void* send, void* receive, std::size_t elements,
                      void* stream) const {
  const Functions& f = *nccl_.functions_;
  void* const communicator = communicators_[static_cast<std::size_t>(rank)];
  const std::size_t part = elements / communicators_.size();
  switch (operation) {
    case models::Collective::all_reduce:
      return f.check(f.all_reduce(send, receive, elements, kBf16, kSum, communicator, stream), "all-reduce");
    case models::Collective::all_gather:
      return f.check(f.all_gather(send, receive, part, kBf16, communicator, stream), "all-gather");
    case models::Collective::reduce_scatter:
      return f.check(f.reduce_scatter(send, receive, part, kBf16, kSum, communicator, stream), "reduce-scatter");
    case models::Collective::all_to_all:
      break;
  }
  f.check(f.begin_group(), "the begin of an all-to-all");
  for (int peer = 0; peer < size(); ++peer) {
    const std::size_t offset = static_cast<std::size_t>(peer) * part * kElementBytes;
    f.check(f.send(static_cast<const std::byte*>(send) + offset, part, kBf16, peer, communicator, stream), "a send");
    f.check(f.receive(static_cast<std::byte*>(receive) + offset, part, kBf16, peer, communicator, stream), "a receive");
  }
  f.check(f.end_group(), "the end of an all-to-all");
}

}  // namespace kvsim::calibrate
