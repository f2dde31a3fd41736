// First in, first out: the order of submission is the order of service.
#include <utility>

#include "sim/engine/link_disciplines.h"
#include "sim/engine/queued_link.h"

namespace kvsim::engine {
namespace {

class SerialLink final : public QueuedLink {
 public:
  using QueuedLink::QueuedLink;

 private:
  [[nodiscard]] int rank(const Transfer& /*transfer*/) const override { return 0; }
};

}  // namespace

std::unique_ptr<Link> make_serial_link(Simulator& simulator, LinkConfig config, TraceSink* trace) {
  return std::make_unique<SerialLink>(simulator, std::move(config), trace);
}

}  // namespace kvsim::engine
