// Non-pre-emptive priority: when the link becomes free, the highest priority goes next; within one, first in, first
// out. A transfer under way is never interrupted.
#include <utility>

#include "sim/engine/link_disciplines.h"
#include "sim/engine/queued_link.h"

namespace kvsim::engine {
namespace {

class PriorityLink final : public QueuedLink {
 public:
  using QueuedLink::QueuedLink;

 private:
  [[nodiscard]] int rank(const Transfer& transfer) const override { return transfer.priority; }
};

}  // namespace

std::unique_ptr<Link> make_priority_link(Simulator& simulator, LinkConfig config, TraceSink* trace) {
  return std::make_unique<PriorityLink>(simulator, std::move(config), trace);
}

}  // namespace kvsim::engine
