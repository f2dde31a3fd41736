#include "tools/validation/figures_document.h"

#include <cmath>

#include "tools/results/result_document.h"

namespace kvsim::validation {
namespace {

results::Json number(double value) {
  return std::isfinite(value) ? results::Json(value) : results::Json(nullptr);
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
          {"claim", f.claim == Claim::about ? "about" : "at_most"},
          {"tolerance", f.tolerance},
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
  return {{"schema_version", results::kSchemaVersion},
          {"kvsim_version", results::kvsim_version()},
          {"measured", measured.empty() ? results::Json(nullptr) : results::Json(measured)},
          {"summary", {{"passed", t.passed}, {"outside", t.outside}, {"skipped", t.skipped}}},
          {"figures", std::move(list)}};
}

}  // namespace kvsim::validation
