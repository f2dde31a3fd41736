#include "tools/validation/figures_document.h"

#include <cmath>

#include "tools/results/result_document.h"

namespace kvsim::validation {
namespace {

results::Json number(double value) {
  return std::isfinite(value) ? results::Json(value) : results::Json(nullptr);
}

std::string_view claim(const Figure& f) {
  switch (f.claim) {
    case Claim::about:
      return "about";
    case Claim::at_most:
      return "at_most";
    case Claim::none:
      return "none";
  }
  return "";
}

results::Json as_json(const Figure& f) {
  return {{"id", f.id},
          {"group", f.group()},
          {"what", f.what},
          {"unit", f.unit},
          {"expected", number(f.expected)},
          {"simulated", number(f.simulated)},
          {"error", number(f.error())},
          {"measure", f.measure == Measure::relative ? "relative" : "absolute"},
          {"claim", claim(f)},
          {"tolerance", f.claim == Claim::none ? results::Json(nullptr) : results::Json(f.tolerance)},
          {"verdict", to_string(f.verdict())},
          {"reason", f.skipped.empty() ? results::Json(nullptr) : results::Json(f.skipped)},
          {"source", f.source},
          {"assumptions", f.assumptions}};
}

}  // namespace

results::Json figures_document(const std::vector<Figure>& figures, const std::string& measured) {
  const Tally t = tally(figures);
  results::Json list = results::Json::array();
  for (const Figure& f : figures) list.push_back(as_json(f));
  return {
      {"schema_version", results::kSchemaVersion},
      {"kvsim_version", results::kvsim_version()},
      {"measured", measured.empty() ? results::Json(nullptr) : results::Json(measured)},
      {"summary", {{"passed", t.passed}, {"outside", t.outside}, {"skipped", t.skipped}, {"predictions", t.predicted}}},
      {"figures", std::move(list)}};
}

}  // namespace kvsim::validation
