#include "models/hardware/gather.h"

#include <algorithm>

namespace kvsim::models {

double gather_s(const LinkSpec& link, const GatherMethod& method, double rows, double row_bytes) {
  const double read = link.read_bytes_per_s.value;
  const double bytes_per_s = method.bytes_per_s.value > 0 ? std::min(method.bytes_per_s.value, read) : read;
  return rows * std::max(method.per_row_s.value, row_bytes / bytes_per_s);
}

double gathered_bytes_per_s(const LinkSpec& link, const GatherMethod& method, double row_bytes) {
  return row_bytes / gather_s(link, method, 1, row_bytes);
}

const GatherMethod* find_gather(const LinkSpec& link, std::string_view name, double row_bytes) {
  const std::vector<GatherMethod>& all = link.gathers;
  const bool best = name == "best";
  const auto found =
      best ? std::min_element(all.begin(), all.end(),
                              [&](const GatherMethod& a, const GatherMethod& b) {
                                return gather_s(link, a, 1, row_bytes) < gather_s(link, b, 1, row_bytes);
                              })
           : std::find_if(all.begin(), all.end(), [name](const GatherMethod& m) { return m.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace kvsim::models
