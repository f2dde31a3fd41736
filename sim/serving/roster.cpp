#include "sim/serving/roster.h"

#include <algorithm>

namespace kvsim::serving {

void Roster::arrive(Request& r) {
  r.phase = Phase::queued;
  queue_.push_back(&r);
}

void Roster::admit_next() {
  Request& r = next();
  queue_.pop_front();
  r.admission = ++admissions_;
  resident_ += r.resident ? 1 : 0;
}

std::vector<Request*>& Roster::list_of(Phase phase) {
  if (phase == Phase::decoding) return decoding_;
  return phase == Phase::prefilling ? prefilling_ : loading_;
}

void Roster::move(Request& r, Phase phase) {
  if (r.phase != Phase::queued) std::erase(list_of(r.phase), &r);
  r.phase = phase;
  std::vector<Request*>& list = list_of(phase);
  const auto later = [&r](const Request* other) { return other->admission > r.admission; };
  list.insert(std::find_if(list.begin(), list.end(), later), &r);
}

void Roster::push_out(Request& r) {
  leave(r);
  r.phase = Phase::queued;
  queue_.push_front(&r);
}

void Roster::leave(const Request& r) {
  for (auto* list : {&decoding_, &prefilling_, &loading_}) std::erase(*list, &r);
  resident_ -= r.resident ? 1 : 0;
}

Request& Roster::newest() const {
  Request* newest = nullptr;
  for_each([&newest](Request& r) {
    if (!newest || r.admission > newest->admission) newest = &r;
  });
  return *newest;
}

}  // namespace kvsim::serving
