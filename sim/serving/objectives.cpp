#include "sim/serving/objectives.h"

#include <algorithm>

#include "sim/serving/request.h"

namespace kvsim::serving {
namespace {

std::uint8_t bit_if(const std::optional<double>& objective, double value, Miss miss) {
  return objective && value > *objective ? miss_bit(miss) : std::uint8_t{0};
}

}  // namespace

std::uint8_t missed_objectives(const SloConfig& slo, const Experience& x) {
  return static_cast<std::uint8_t>(bit_if(slo.ttft_s, x.ttft_s, Miss::ttft) | bit_if(slo.tpot_s, x.tpot_s, Miss::tpot) |
                                   bit_if(slo.itl_s, x.largest_gap_s, Miss::itl) |
                                   bit_if(slo.e2e_s, x.e2e_s, Miss::e2e));
}

std::uint8_t verdict_so_far(const SloConfig& slo, const Request& r, engine::SimTime now) {
  // Every figure can only grow from here: its last token comes at `now` at the earliest.
  const bool started = r.generated > 0;
  Experience least;
  least.e2e_s = (now - r.arrival).seconds();
  least.ttft_s = started ? (r.first_token - r.arrival).seconds() : least.e2e_s;
  if (started && r.output > 1) {
    least.tpot_s = (now - r.first_token).seconds() / static_cast<double>(r.output - 1);
    least.largest_gap_s = std::max(r.largest_gap_s, (now - r.last_token).seconds());
  }
  const std::uint8_t missed = missed_objectives(slo, least);
  if (missed != 0) return missed;
  const bool only_ttft = slo.ttft_s && !slo.tpot_s && !slo.itl_s && !slo.e2e_s;
  return only_ttft && started ? std::uint8_t{0} : miss_bit(Miss::unfinished);
}

}  // namespace kvsim::serving
