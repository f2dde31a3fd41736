#include "sim/scenario/outage_schema.h"

#include <optional>

#include <fmt/format.h>

namespace kvsim::scenario {

using schema::number;
using schema::ObjectSchema;
using schema::Reporter;
using schema::time;
using serving::Outage;

namespace {

/// The place of an outage that begins before another one of the list is over; none where they follow one another.
std::optional<std::size_t> overlapping(const std::vector<Outage>& outages) {
  for (std::size_t i = 0; i < outages.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Outage& a = outages[i];
      const Outage& b = outages[j];
      if (a.at_s < b.at_s + b.lasting_s && b.at_s < a.at_s + a.lasting_s) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

ObjectSchema<Outage> outage_schema() {
  ObjectSchema<Outage> s("outages", "A time in which links fail or are slow, in both directions.");
  s.required("at", &Outage::at_s, time().non_negative(), "when it begins, since the start of the run");
  s.required("lasting", &Outage::lasting_s, time().positive(), "how long it lasts");
  s.optional("bandwidth", &Outage::bandwidth_fraction, number().non_negative().below(1),
             "share of the bandwidth that is left meanwhile; 0: transfers stand still");
  return s;
}

void check_outages(const std::vector<Outage>& outages, const Reporter& report) {
  if (const auto i = overlapping(outages)) {
    report.fail(fmt::format("outages.{}", *i), "overlaps an outage before it in the list: make one of them");
  }
}

}  // namespace kvsim::scenario
