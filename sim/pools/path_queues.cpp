#include "sim/pools/path_queues.h"

#include <algorithm>

namespace kvsim::pools {

namespace {

constexpr std::size_t kUndecided = models::kPaths;  // place of the queue without a path

/// Time at the head of a queue after which a request goes before all that came later.
constexpr double kPatience_s = 10;

}  // namespace

PathQueues::PathQueues(engine::Simulator& simulator, engine::TraceSink* trace, Dispatcher& dispatcher,
                       const PoolsView& view, Reloads& reloads, PathQueuesListener& listener)
    : simulator_(simulator),
      trace_(trace),
      dispatcher_(dispatcher),
      view_(view),
      reloads_(reloads),
      listener_(listener) {
  if (trace_) counter_ = trace_->add_counter("dispatch", "queued requests");
}

void PathQueues::enqueue(PoolRequest& r) {
  Queue& queue = queues_.at(r.path_given ? models::index_of(r.path) : kUndecided);
  if (queue.waiting.empty()) queue.head_since = simulator_.now();
  queue.waiting.push_back(&r);
  count(1);
}

void PathQueues::put_back(PoolRequest& r) {
  r.path_given = true;
  Queue& queue = queues_.at(models::index_of(r.path));
  queue.head_since = simulator_.now();
  queue.waiting.push_front(&r);
  count(1);
}

void PathQueues::count(std::int64_t change) {
  waiting_ += change;
  if (trace_) trace_->counter(counter_, simulator_.now(), static_cast<double>(waiting_));
}

bool PathQueues::out_of_patience(const Queue& queue) const {
  return (simulator_.now() - queue.head_since).seconds() > kPatience_s;
}

void PathQueues::assign() {
  while (assign_one()) continue;
  if (waiting_ == 0 || simulator_.pending(retry_)) return;
  const auto after = dispatcher_.retry_after();
  if (after) retry_ = simulator_.schedule_in(*after, engine::Callback::to<&PathQueues::assign>(this));
}

void PathQueues::sort_heads() {
  heads_.clear();
  for (Queue& queue : queues_) {
    if (!queue.waiting.empty()) heads_.push_back(&queue);
  }
  std::sort(heads_.begin(), heads_.end(), [](const Queue* a, const Queue* b) {
    return a->waiting.front()->request->id < b->waiting.front()->request->id;
  });
}

bool PathQueues::assign_one() {
  sort_heads();
  reloads_.take_turns(false);
  bool keep_local = false, keep_remote = false;
  for (Queue* queue : heads_) {
    const PoolRequest& head = *queue->waiting.front();
    const bool needs_local = !head.path_given || head.traits().on_local;
    const bool needs_remote = !head.path_given || head.traits().on_remote;
    if ((keep_local && needs_local) || (keep_remote && needs_remote)) continue;
    const bool late = out_of_patience(*queue);
    reloads_.take_turns(late && needs_local);
    if (assign_head(*queue)) return true;
    keep_local = keep_local || (late && needs_local);
    keep_remote = keep_remote || (late && needs_remote);
  }
  reloads_.take_turns(keep_local);
  return false;
}

bool PathQueues::assign_head(Queue& queue) {
  PoolRequest& r = *queue.waiting.front();
  listener_.before_assigning(r);
  const auto assignment = dispatcher_.assign(r, view_);
  if (!assignment) return false;
  queue.waiting.pop_front();
  count(-1);
  queue.head_since = simulator_.now();
  listener_.on_assigned(r, *assignment);
  return true;
}

}  // namespace kvsim::pools
