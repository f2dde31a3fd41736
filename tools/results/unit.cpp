#include "tools/results/unit.h"

#include <cmath>

#include <fmt/format.h>

#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

std::string print_whole(double value) {
  return std::isfinite(value) ? with_commas(fmt::format("{:.0f}", value)) : "-";
}

std::string print_bytes_per_s(double value) {
  return std::isfinite(value) ? bytes(value) + "/s" : "-";
}

}  // namespace

const Unit kCount{"1", print_whole};
const Unit kTokens{"tokens", print_whole};
const Unit kRequests{"requests", print_whole};
const Unit kRequestsOrWord{"requests, or a word", print_whole};
const Unit kSeconds{"s", seconds};
const Unit kBytes{"bytes", bytes};
const Unit kGigabytes{"GB", bytes_of_gb};
const Unit kShare{"share", percent};
const Unit kPlain{"1", figure};
const Unit kFactor{"1", factor};
const Unit kTokensPerS{"tokens/s", figure};
const Unit kRequestsPerS{"requests/s", figure};
const Unit kBytesPerS{"bytes/s", print_bytes_per_s};
const Unit kPerS{"1/s", figure};
const Unit kNats{"nats", figure};
const Unit kDollars{"USD", figure};
const Unit kDollarsPerHour{"USD/hour", figure};
const Unit kJoulesPerToken{"J/token", figure};

std::string_view word_of(Better better) {
  if (better == Better::neither) return "neither";
  return better == Better::more ? "higher" : "lower";
}

}  // namespace kvsim::results
