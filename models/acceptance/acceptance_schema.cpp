#include "models/acceptance/acceptance_schema.h"

namespace kvsim::models {
namespace {

using namespace schema;

ObjectSchema<AcceptanceSpec> make_schema() {
  ObjectSchema<AcceptancePoint> point("point", "One point of a curve of acceptance lengths.");
  point.required("draft_length", &AcceptancePoint::draft_length, integer().at_least(1), "x");
  point.required("accepted", &AcceptancePoint::accepted, number().non_negative(),
                 "A(x): mean accepted tokens, without the bonus token");
  ObjectSchema<AcceptanceSpec> s("acceptance", "How many drafted tokens a verification accepts.");
  s.optional("model", &AcceptanceSpec::kind,
             choice<AcceptanceKind>(
                 {{"compressor", AcceptanceKind::compressor, "the compressor's agreement at the keep ratio"},
                  {"constant", AcceptanceKind::constant, "the same agreement for every token"},
                  {"step_kl", AcceptanceKind::step_kl, "agreement exp(-step_kl)"},
                  {"curve", AcceptanceKind::curve, "acceptance lengths A(x) at given x"},
                  {"positions", AcceptanceKind::positions, "share of drafts accepted up to each position"},
                  {"heterogeneous", AcceptanceKind::heterogeneous, "per-request agreement, Beta distributed"},
                  {"recorded", AcceptanceKind::recorded, "accepted lengths drawn from a record"}}),
             "law of the accepted length");
  s.optional("agreement", &AcceptanceSpec::agreement, number().above(0).at_most(1),
             "per-token agreement (constant), or its mean over requests (heterogeneous)");
  s.optional("concentration", &AcceptanceSpec::concentration, number().positive(),
             "alpha + beta of the Beta distribution (heterogeneous): larger means more alike");
  s.optional("step_kl", &AcceptanceSpec::step_kl_nats, number().non_negative(), "KL per step in nats (step_kl)");
  s.list("points", &AcceptanceSpec::points, point, Presence::optional, "the curve, ascending in draft length");
  s.list(
      "positions", &AcceptanceSpec::positions, number().above(0).at_most(1).because("it is a share of all drafts"),
      Presence::optional,
      "S(1), S(2), ...: share of drafts whose first i tokens are all accepted; the last S(i)/S(i - 1) goes on beyond");
  s.list("lengths", &AcceptanceSpec::lengths, integer().non_negative(), Presence::optional,
         "recorded accepted lengths");
  s.check([](const AcceptanceSpec& a, const Reporter& report) {
    // A key of another model would have no effect. Its default may stand there: resolved scenarios write every key.
    const AcceptanceSpec unset;
    const auto need = [&](const char* key, bool wanted, bool changed) {
      if (wanted && !report.node().find(key)) {
        report.fail("", std::string("missing key \"") + key + "\", which this acceptance model needs");
      }
      if (changed && !wanted) report.fail(key, std::string(key) + " does not belong to this acceptance model");
    };
    const bool heterogeneous = a.kind == AcceptanceKind::heterogeneous;
    need("agreement", a.kind == AcceptanceKind::constant || heterogeneous, a.agreement != unset.agreement);
    need("step_kl", a.kind == AcceptanceKind::step_kl, a.step_kl_nats != unset.step_kl_nats);
    need("points", a.kind == AcceptanceKind::curve, !a.points.empty());
    need("positions", a.kind == AcceptanceKind::positions, !a.positions.empty());
    need("lengths", a.kind == AcceptanceKind::recorded, !a.lengths.empty());
    if (a.concentration != unset.concentration && !heterogeneous) {
      report.fail("concentration", "concentration does not belong to this acceptance model");
    }
    if (a.kind == AcceptanceKind::heterogeneous && a.agreement >= 1) {
      report.fail("agreement", "must be below 1 for requests to differ");
    }
    for (std::size_t i = 0; i < a.points.size(); ++i) {
      const AcceptancePoint before = i == 0 ? AcceptancePoint{} : a.points[i - 1];
      const AcceptancePoint& p = a.points[i];
      const std::string key = "points." + std::to_string(i);
      if (p.draft_length <= before.draft_length) report.fail(key, "draft lengths must ascend");
      const double gain = p.accepted - before.accepted;
      if (gain < 0 || gain > static_cast<double>(p.draft_length - before.draft_length)) {
        report.fail(key + ".accepted", "must grow by at least 0 and at most 1 per drafted token");
      }
    }
    if (a.kind == AcceptanceKind::positions && a.positions.empty()) {
      report.fail("positions", "needs the share of at least one position");
    }
    for (std::size_t i = 1; i < a.positions.size(); ++i) {
      if (a.positions[i] > a.positions[i - 1]) {
        report.fail("positions." + std::to_string(i), "rises: a position is accepted only where all before it are");
      }
    }
  });
  return s;
}

}  // namespace

const ObjectSchema<AcceptanceSpec>& acceptance_schema() {
  static const ObjectSchema<AcceptanceSpec> schema = make_schema();
  return schema;
}

}  // namespace kvsim::models
