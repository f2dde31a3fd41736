#include "sim/instance/request_queues.h"

#include <algorithm>

namespace kvsim::serving {
namespace {

/// Its place in a list in order of admission, whether it is there or not.
std::vector<Request*>::const_iterator place(const std::vector<Request*>& list, const Request& r) {
  return std::lower_bound(list.begin(), list.end(), r.admission,
                          [](const Request* other, std::uint64_t admission) { return other->admission < admission; });
}

void take_out(std::vector<Request*>& list, const Request& r) {
  const auto at = place(list, r);
  if (at != list.end() && *at == &r) list.erase(at);
}

}  // namespace

void RequestQueues::arrive(Request& r) {
  r.phase = Phase::queued;
  queue_.push_back(&r);
}

void RequestQueues::admit_next() {
  Request& r = next();
  queue_.pop_front();
  r.admission = ++admissions_;
  resident_ += r.full_kv.resident ? 1 : 0;
}

std::vector<Request*>& RequestQueues::list_of(Phase phase) {
  if (phase == Phase::decoding) return decoding_;
  return phase == Phase::prefilling ? prefilling_ : loading_;
}

void RequestQueues::move(Request& r, Phase phase) {
  ++changes_;
  if (r.phase != Phase::queued) take_out(list_of(r.phase), r);
  r.phase = phase;
  std::vector<Request*>& list = list_of(phase);
  list.insert(place(list, r), &r);
}

void RequestQueues::join(Request& r, Phase phase) {
  ++changes_;
  r.admission = ++admissions_;
  r.phase = phase;
  list_of(phase).push_back(&r);
}

void RequestQueues::part(const Request& r) {
  ++changes_;
  for (auto* list : {&decoding_, &prefilling_, &loading_}) take_out(*list, r);
}

void RequestQueues::push_out(Request& r) {
  leave(r);
  r.phase = Phase::queued;
  queue_.push_front(&r);
}

void RequestQueues::leave(const Request& r) {
  part(r);
  resident_ -= r.full_kv.resident ? 1 : 0;
}

Request& RequestQueues::newest() const {
  Request* newest = nullptr;
  for (const auto* list : {&decoding_, &prefilling_, &loading_}) {
    if (!list->empty() && (!newest || list->back()->admission > newest->admission)) newest = list->back();
  }
  return *newest;
}

}  // namespace kvsim::serving
