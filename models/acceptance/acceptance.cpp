#include "models/acceptance/acceptance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "models/schemas.h"

namespace kvsim::models {
namespace {

double checked_agreement(double a) {
  if (!(a > 0.0) || a > 1.0) throw std::invalid_argument("agreement must lie in (0, 1]");
  return a;
}

std::vector<double> geometric_survival(double a, std::size_t count) {
  std::vector<double> s(count, 1.0);
  for (std::size_t i = 1; i < count; ++i) s[i] = s[i - 1] * a;
  return s;
}

/// E[a^i] for a ~ Beta(p, q): product of (p + k)/(p + q + k).
std::vector<double> beta_survival(double p, double q, std::size_t count) {
  std::vector<double> s(count, 1.0);
  for (std::size_t i = 1; i < count; ++i) {
    const auto k = static_cast<double>(i - 1);
    s[i] = s[i - 1] * (p + k) / (p + q + k);
  }
  return s;
}

/// A(x) by linear interpolation through (0, 0) and the points, beyond the last with its last slope; then S from the
/// differences, clamped to [0, 1] and made non-increasing.
std::vector<double> curve_survival(const std::vector<AcceptancePoint>& points, std::size_t count) {
  if (points.empty()) throw std::invalid_argument("an acceptance curve needs at least one point");
  std::vector<double> s(count, 1.0);
  std::size_t next = 0;
  double x0 = 0, y0 = 0, slope = 1;
  for (std::size_t i = 1; i < count; ++i) {
    const auto x = static_cast<double>(i);
    if (next < points.size() && x > x0) {
      const auto x1 = static_cast<double>(points[next].draft_length);
      slope = (points[next].accepted - y0) / (x1 - x0);
    }
    s[i] = std::min(s[i - 1], std::clamp(slope, 0.0, 1.0));
    if (next < points.size() && static_cast<std::int64_t>(i) == points[next].draft_length) {
      x0 = x;
      y0 = points[next].accepted;
      ++next;
    }
  }
  return s;
}

/// The given S(i); beyond the last of them its hazard S(n)/S(n - 1) goes on, with S(0) = 1.
std::vector<double> position_survival(const std::vector<double>& positions, std::size_t count) {
  if (positions.empty()) throw std::invalid_argument("acceptance by position needs at least one position");
  double before = 1, hazard = 1;
  for (const double reached : positions) {
    if (!(reached > 0.0 && reached <= before)) {
      throw std::invalid_argument("acceptance by position must lie in (0, 1] and never rise");
    }
    hazard = reached / before;
    before = reached;
  }
  std::vector<double> s(count, 1.0);
  for (std::size_t i = 1; i < count; ++i) s[i] = i <= positions.size() ? positions[i - 1] : s[i - 1] * hazard;
  return s;
}

std::vector<double> recorded_survival(const std::vector<std::int64_t>& lengths, std::size_t count) {
  if (lengths.empty()) throw std::invalid_argument("a record of accepted lengths needs at least one length");
  std::vector<double> s(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto reached = std::count_if(lengths.begin(), lengths.end(),
                                       [i](std::int64_t l) { return l >= static_cast<std::int64_t>(i); });
    s[i] = static_cast<double>(reached) / static_cast<double>(lengths.size());
  }
  return s;
}

}  // namespace

AcceptanceModel::AcceptanceModel(const AcceptanceSpec& spec, double compressor_agreement, std::int64_t max_draft_length)
    : kind_(spec.kind) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(max_draft_length, 0)) + 1;
  switch (spec.kind) {
    case AcceptanceKind::compressor:
      survival_ = geometric_survival(checked_agreement(compressor_agreement), count);
      break;
    case AcceptanceKind::constant:
      survival_ = geometric_survival(checked_agreement(spec.agreement), count);
      break;
    case AcceptanceKind::step_kl:
      survival_ = geometric_survival(checked_agreement(std::exp(-spec.step_kl_nats)), count);
      break;
    case AcceptanceKind::curve:
      survival_ = curve_survival(spec.points, count);
      break;
    case AcceptanceKind::positions:
      survival_ = position_survival(spec.positions, count);
      break;
    case AcceptanceKind::heterogeneous:
      if (!(spec.agreement > 0 && spec.agreement < 1 && spec.concentration > 0)) {
        throw std::invalid_argument("a heterogeneous agreement needs a mean in (0, 1) and a concentration above 0");
      }
      beta_a_ = spec.agreement * spec.concentration;
      beta_b_ = (1.0 - spec.agreement) * spec.concentration;
      survival_ = beta_survival(beta_a_, beta_b_, count);
      break;
    case AcceptanceKind::recorded:
      survival_ = recorded_survival(spec.lengths, count);
      break;
  }
  sums_.assign(count, 0.0);
  for (std::size_t i = 1; i < count; ++i) sums_[i] = sums_[i - 1] + survival_[i];
}

double AcceptanceModel::survival(std::int64_t i) const {
  return survival_.at(static_cast<std::size_t>(i));
}

double AcceptanceModel::expected_accepted(std::int64_t x) const {
  return sums_.at(static_cast<std::size_t>(x));
}

std::int64_t AcceptanceModel::accepted(std::int64_t x, double u, const RequestAcceptance& request) const {
  if (x <= 0) return 0;
  if (heterogeneous()) {
    if (request.agreement >= 1.0 || u <= 0.0) return x;
    if (request.agreement <= 0.0) return 0;
    const double reached = std::log(u) / std::log(request.agreement);  // u < a^i  <=>  i < ln u / ln a
    if (reached > static_cast<double>(x)) return x;
    return std::min<std::int64_t>(x, std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(reached)) - 1));
  }
  // survival_ is non-increasing: count the i in 1..x with S(i) > u.
  const auto begin = survival_.begin() + 1;
  const auto end = survival_.begin() + 1 + std::min<std::int64_t>(x, static_cast<std::int64_t>(survival_.size()) - 1);
  const auto it = std::partition_point(begin, end, [u](double s) { return s > u; });
  return it - begin;
}

namespace {

using namespace schema;

/// A key and the models that read it.
struct ParameterOfModel {
  const char* key;
  bool (*read_by)(AcceptanceKind kind);
  const char* models;
  bool required = true;
};

template <AcceptanceKind... kinds>
constexpr bool is_one_of(AcceptanceKind kind) {
  return ((kind == kinds) || ...);
}

constexpr std::array kParameters{
    ParameterOfModel{"agreement", is_one_of<AcceptanceKind::constant, AcceptanceKind::heterogeneous>,
                     "model: constant, or heterogeneous"},
    ParameterOfModel{"concentration", is_one_of<AcceptanceKind::heterogeneous>, "model: heterogeneous", false},
    ParameterOfModel{"step_kl", is_one_of<AcceptanceKind::step_kl>, "model: step_kl"},
    ParameterOfModel{"points", is_one_of<AcceptanceKind::curve>, "model: curve"},
    ParameterOfModel{"positions", is_one_of<AcceptanceKind::positions>, "model: positions"},
    ParameterOfModel{"lengths", is_one_of<AcceptanceKind::recorded>, "model: recorded"}};

ObjectSchema<AcceptanceSpec> acceptance_fields() {
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
  for (const ParameterOfModel& parameter : kParameters) {
    s.unread({parameter.key}, [&parameter](const AcceptanceSpec& a) {
      return parameter.read_by(a.kind)
                 ? ""
                 : fmt::format("this acceptance model does not read it: use {}", parameter.models);
    });
  }
  s.check([](const AcceptanceSpec& a, const Reporter& report) {
    for (const ParameterOfModel& parameter : kParameters) {
      if (!parameter.required || !parameter.read_by(a.kind) || report.node().find(parameter.key)) continue;
      report.fail("", fmt::format("missing key \"{}\", which this acceptance model needs", parameter.key));
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
    if (a.kind == AcceptanceKind::curve && a.points.empty()) report.fail("points", "needs at least one point");
    if (a.kind == AcceptanceKind::positions && a.positions.empty()) {
      report.fail("positions", "needs the share of at least one position");
    }
    if (a.kind == AcceptanceKind::recorded && a.lengths.empty()) report.fail("lengths", "needs at least one length");
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
  static const ObjectSchema<AcceptanceSpec> schema = acceptance_fields();
  return schema;
}

}  // namespace kvsim::models
