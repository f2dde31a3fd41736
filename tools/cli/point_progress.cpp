#include "tools/cli/point_progress.h"

#include <fmt/format.h>

#include "tools/results/numbers.h"

namespace kvsim::cli {

void PointProgress::finished() {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  ++now_;
  if (!line_.due()) return;
  const double rate = static_cast<double>(now_) / line_.elapsed_s();
  const auto left = static_cast<double>(total_ - before_ - now_);
  line_.show(fmt::format("{} of {} points done, {} points/s, {:.0f} s left", before_ + now_, total_,
                         results::figure(rate), left / rate));
}

}  // namespace kvsim::cli
