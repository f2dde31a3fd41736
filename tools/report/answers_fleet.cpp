// How many GPUs.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/fleet_words.h"
#include "tools/report/objectives.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// "TTFT <= 30.0 s": each request is asked for it, whatever the key's name says of percentiles.
std::string objectives_text(const Json& capacity) {
  std::string said;
  for (const auto& [key, value] : at(capacity, {"slo"}).items()) {
    std::string name = key.substr(0, key.find('_'));
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    said += fmt::format("{}{} <= {}", said.empty() ? "" : ", ", name,
                        value.is_number() ? results::seconds(value.get<double>()) : "-");
  }
  return said;
}

std::string replicas_text(double count) {
  return plain(count) + (count == 1 ? " replica" : " replicas");
}

}  // namespace

Fact gpus_of(const Json& capacity) {
  const Json& first = at(capacity, {"configurations"})[0];
  const Json& fleet = at(first, {"fleet"});
  const std::string machine = text(first, {"machine"}), policy = text(first, {"policy"});
  const double per_replica = number_or_nan(first, {"tensor_parallel"});
  const std::string within = fmt::format(
      "{} of the requests within {} (confidence {})", results::percent(number_or_nan(capacity, {"attainment_target"})),
      objectives_text(capacity), results::percent(number_or_nan(capacity, {"confidence"})));
  if (fleet.empty()) {
    const double rate = number_or_nan(first, {"rate_per_replica"});
    if (!std::isfinite(rate)) {
      return {kHowManyGpus, "no rate meets the objectives", within + ", on none of the machines looked at.", "costs"};
    }
    return {kHowManyGpus,
            fmt::format("one replica of {} x {} sustains {} requests/s", plain(per_replica), machine,
                        results::figure(rate)),
            fmt::format("Under {}, {}. For a fleet: kvsim capacity --rate.", policy, within), "costs"};
  }
  const double dollars = number_or_nan(fleet, {"usd_per_hour"});
  Fact f{kHowManyGpus,
         fmt::format("{} x {} for {} requests/s", plain(number_or_nan(fleet, {"gpus"})), machine,
                     plain(number_or_nan(capacity, {"rate_required"}))),
         fmt::format("{} of {} GPUs under {}, {}: {} an hour, {} per 1M output tokens{}.",
                     replicas_text(number_or_nan(fleet, {"replicas"})), plain(per_replica), policy, within,
                     usd(dollars), usd(number_or_nan(fleet, {"usd_per_1m_output_tokens"})),
                     truth(fleet, {"simulated"}) ? "; the fleet was simulated" : "; estimated from one replica"),
         "costs"};
  if (const std::string drafts = draft_settings(capacity); !drafts.empty() && policy.find("full_kv") != 0) {
    f.detail += fmt::format("\nDrafts as in the scenario: {}.", drafts);
  }
  f.detail += pooling(capacity, first);
  return f;
}

}  // namespace kvsim::report
