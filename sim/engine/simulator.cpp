#include "sim/engine/simulator.h"

namespace kvsim::engine {

void Simulator::run() {
  stopped_ = false;
  while (!stopped_ && step()) {
  }
}

void Simulator::run_until(SimTime end) {
  KVSIM_ALWAYS(end >= now_, "the end of a run must not lie in the past");
  stopped_ = false;
  while (!stopped_ && !queue_.empty() && queue_.top_time() <= end) step();
  if (!stopped_) now_ = end;
}

}  // namespace kvsim::engine
