#include "tools/results/time_account.h"

#include <cmath>

#include <fmt/format.h>

namespace kvsim::results {

using serving::Bottleneck;
using serving::kTimeParts;
using serving::TimePartName;

std::string bound_text(std::string_view name, double share) {
  return fmt::format("{} {:.0f} %", name, share * 100);
}

std::string gain_text(double gain) {
  return std::isfinite(gain) ? fmt::format("{:+.0f} %", gain * 100) : "";
}

std::string saturated_text(double tokeniser_busy, double link_in_use) {
  if (tokeniser_busy >= serving::kNeverRests) return bound_text("tokeniser", tokeniser_busy);
  return link_in_use >= serving::kNeverRests ? bound_text("link", link_in_use) : "";
}

const TimePartName& largest_part(const Bottleneck& b, bool idle) {
  const TimePartName* most = &kTimeParts.front();
  for (const TimePartName& part : kTimeParts) {
    if (part.part == &Bottleneck::idle && !idle) continue;
    if ((b.*part.part).share > (b.*most->part).share) most = &part;
  }
  return *most;
}

Fields<Bottleneck> time_share_fields() {
  Fields<Bottleneck> fields;
  for (const TimePartName& part : kTimeParts) {
    fields.push_back({std::string(part.key),
                      {kShare, fmt::format("share of the replicas' time {}", part.time)},
                      [&part](const Bottleneck& b) { return (b.*part.part).share; }});
  }
  return fields;
}

Fields<Bottleneck> time_gain_fields() {
  Fields<Bottleneck> fields;
  for (const TimePartName& part : kTimeParts) {
    if (part.more.empty()) continue;
    fields.push_back({std::string(part.key), {kShare, fmt::format("of {}", part.more)}, [&part](const Bottleneck& b) {
                        return (b.*part.part).gain;
                      }});
  }
  return fields;
}

}  // namespace kvsim::results
