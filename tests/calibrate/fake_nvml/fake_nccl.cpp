// Collectives over host memory, in the words of NVIDIA's: each is done when the last rank of the group has asked for
// it.
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tools/calibrate/kernels/bf16.h"

namespace {

using kvsim::calibrate::Bf16;
using kvsim::calibrate::from_bf16;
using kvsim::calibrate::to_bf16;

constexpr int kBf16 = 9, kInvalid = 4;

struct Call {
  const Bf16* send = nullptr;
  Bf16* receive = nullptr;
  std::size_t count = 0;
  int peer = 0;
};
struct Group {
  std::vector<Call> calls, sends, receives;
  std::size_t ranks = 0;
};
struct Communicator {
  std::shared_ptr<Group> group;
};

/// Notes a rank's call; the group's calls once all are there.
std::vector<Call> all_of(void* communicator, const void* send, void* receive, std::size_t count) {
  Group& group = *static_cast<Communicator*>(communicator)->group;
  group.calls.push_back({static_cast<const Bf16*>(send), static_cast<Bf16*>(receive), count});
  return group.calls.size() < group.ranks ? std::vector<Call>{} : std::exchange(group.calls, {});
}

Bf16 sum_at(const std::vector<Call>& calls, std::size_t i) {
  float sum = 0;
  for (const Call& call : calls) sum += from_bf16(call.send[i]);
  return to_bf16(sum);
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = 22703;
  return 0;
}
const char* ncclGetErrorString(int status) {
  return status == kInvalid ? "invalid argument" : "unknown";
}
int ncclCommInitAll(void** communicators, int count, const int* devices) {
  const auto group = std::make_shared<Group>();
  group->ranks = static_cast<std::size_t>(count);
  for (int i = 0; i < count; ++i) {
    if (devices[i] != i) return kInvalid;
    communicators[i] = std::make_unique<Communicator>(Communicator{group}).release();
  }
  return 0;
}
int ncclCommDestroy(void* communicator) {
  const std::unique_ptr<Communicator> owner(static_cast<Communicator*>(communicator));
  return 0;
}
int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int operation, void* communicator,
                  void* /*stream*/) {
  if (type != kBf16 || operation != 0) return kInvalid;
  const std::vector<Call> calls = all_of(communicator, send, receive, count);
  for (const Call& call : calls) {
    for (std::size_t i = 0; i < count; ++i) call.receive[i] = sum_at(calls, i);
  }
  return 0;
}
int ncclAllGather(const void* send, void* receive, std::size_t count, int type, void* communicator, void* /*stream*/) {
  if (type != kBf16) return kInvalid;
  const std::vector<Call> calls = all_of(communicator, send, receive, count);
  for (const Call& call : calls) {
    for (std::size_t from = 0; from < calls.size(); ++from) {
      std::memcpy(call.receive + from * count, calls[from].send, count * sizeof(Bf16));
    }
  }
  return 0;
}
int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int operation, void* communicator,
                      void* /*stream*/) {
  if (type != kBf16 || operation != 0) return kInvalid;
  const std::vector<Call> calls = all_of(communicator, send, receive, count);
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) calls[rank].receive[i] = sum_at(calls, rank * count + i);
  }
  return 0;
}
int ncclSend(const void* from, std::size_t count, int type, int peer, void* communicator, void* /*stream*/) {
  if (type != kBf16) return kInvalid;
  static_cast<Communicator*>(communicator)
      ->group->sends.push_back({static_cast<const Bf16*>(from), nullptr, count, peer});
  return 0;
}
int ncclRecv(void* to, std::size_t count, int type, int peer, void* communicator, void* /*stream*/) {
  if (type != kBf16) return kInvalid;
  Group& group = *static_cast<Communicator*>(communicator)->group;
  group.receives.push_back({nullptr, static_cast<Bf16*>(to), count, peer});
  if (group.receives.size() < group.ranks * group.ranks) return 0;
  // Rank r's calls are those from r ranks on, in the order in which it made them.
  for (std::size_t i = 0; i < group.receives.size(); ++i) {
    const std::size_t rank = i / group.ranks;
    for (std::size_t j = 0; j < group.ranks; ++j) {
      const Call& sent = group.sends[static_cast<std::size_t>(group.receives[i].peer) * group.ranks + j];
      if (sent.peer == static_cast<int>(rank)) std::memcpy(group.receives[i].receive, sent.send, count * sizeof(Bf16));
    }
  }
  return 0;
}
int ncclGroupStart() {
  return 0;
}
int ncclGroupEnd() {
  return 0;
}
}
