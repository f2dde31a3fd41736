#include "planner/reuse/reuse_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "models/schema/error.h"
#include "planner/infeasible.h"
#include "planner/plan/scenario_costs.h"

namespace kvsim::planner {
namespace {

double middle_of(double a, double b, BisectIn in) {
  switch (in) {
    case BisectIn::linear:
      return a + (b - a) / 2;
    case BisectIn::logarithmic:
      return std::sqrt(a) * std::sqrt(b);
    case BisectIn::whole:
      break;
  }
  return std::floor(a + (b - a) / 2);
}

bool narrow(double a, double b, double from, double to, BisectIn in) {
  constexpr double kClose = 1e-9;
  if (in == BisectIn::whole) return b - a <= 1;
  return b - a <= kClose * (in == BisectIn::linear ? to - from : b);
}

/// Holds (or does not) at `from`, and is the other way round at `to`; returns where that is so first.
double change_between(const std::function<bool(double)>& holds, double from, double to, bool at_from, BisectIn in) {
  double a = from, b = to;
  while (!narrow(a, b, from, to, in)) {
    const double middle = middle_of(a, b, in);
    (holds(middle) == at_from ? a : b) = middle;
  }
  return b;
}

}  // namespace

HoldsWhere holds_where(const std::function<bool(double)>& holds, std::span<const double> grid, BisectIn in) {
  HoldsWhere where;
  where.at_first = holds(grid.front());
  bool before = where.at_first;
  for (std::size_t i = 1; i < grid.size(); ++i) {
    const bool now = holds(grid[i]);
    if (now != before) where.changes.push_back(change_between(holds, grid[i - 1], grid[i], before, in));
    before = now;
  }
  return where;
}

std::string words_of(const HoldsWhere& where, const std::function<std::string(double)>& print) {
  if (where.changes.empty()) return where.at_first ? "always" : "never";
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : " and ") + words; };
  std::size_t next = 0;
  if (where.at_first) add("below " + print(where.changes[next++]));
  for (; next + 1 < where.changes.size(); next += 2) {
    add(fmt::format("from {} to below {}", print(where.changes[next]), print(where.changes[next + 1])));
  }
  if (next < where.changes.size()) add("at least " + print(where.changes[next]));
  return text;
}

namespace {

using schema::InputError;
using Models = std::vector<std::unique_ptr<FirstTokenModel>>;

constexpr double kEqualTime = 1e-9;  // closer times are equal
constexpr std::int64_t kFoundPoints = 64;
constexpr double kContextsPerOctave = 2;

bool faster(double a_s, double b_s) {
  return a_s < b_s * (1 - kEqualTime);
}

/// Methods that each is compared with.
std::vector<PromptMethod> opponents(PromptMethod method) {
  if (method == PromptMethod::recompute) return {};
  if (method == PromptMethod::load) return {PromptMethod::recompute};
  return {PromptMethod::recompute, PromptMethod::load};
}

std::vector<double> bandwidth_grid() {
  std::vector<double> grid;
  for (double b = kLeastBandwidth; b <= kMostBandwidth * (1 + kEqualTime); b *= 10) grid.push_back(b);
  return grid;
}

/// Every number of found chunks of few, of many some.
std::vector<double> found_grid(std::int64_t chunks) {
  std::vector<double> grid;
  const std::int64_t points = std::min(chunks, kFoundPoints);
  for (std::int64_t i = 0; i <= points; ++i) grid.push_back(static_cast<double>(i * chunks / points));
  return grid;
}

/// Numbers of chunks from 1 to `most`, two to an octave, and `most` itself.
std::vector<double> chunk_grid(std::int64_t most) {
  std::vector<double> grid;
  for (int i = 0;; ++i) {
    const double chunks = std::round(std::exp2(i / kContextsPerOctave));
    if (chunks >= static_cast<double>(most)) break;
    if (grid.empty() || chunks > grid.back()) grid.push_back(chunks);
  }
  grid.push_back(static_cast<double>(most));
  return grid;
}

class ReusePlanner {
 public:
  ReusePlanner(const scenario::Scenario& s, const LoadPath& path, double hit_rate) : s_(s) {
    const Traffic traffic = traffic_of(s);
    const models::SharedChunkSpec& chunks = *s.workload.chunks;
    chunk_tokens_ = chunks.tokens;
    query_ = std::max<std::int64_t>(
        std::llround(traffic.named_context - static_cast<double>(chunks.tokens_per_request())), 1);
    plan_.output = std::max<std::int64_t>(std::llround(std::ceil(traffic.mean_output)), 1);
    plan_.hit_rate = hit_rate;
    const auto& slo = s.serving.slo;
    plan_.quality_floor = slo.functional_floor ? 1.0 : slo.quality_floor;
    plan_.path = path;
    for (const PromptMethod method : prompt_methods()) models_.push_back(std::make_unique<FirstTokenModel>(s, method));
    plan_.fallbacks = model(PromptMethod::recompute).fallbacks();
  }

  ReusePlan plan(const std::vector<std::int64_t>& contexts) {
    std::set<std::int64_t> seen;
    for (const std::int64_t tokens : contexts) {
      const PromptShape prompt = shape(chunks_in(tokens));
      check_windows(prompt);
      if (seen.insert(prompt.chunks).second) plan_.contexts.push_back(estimate(prompt));
    }
    const std::vector<double> grid = chunk_grid(largest());
    add_context_break_evens(grid);
    for (const double chunks : grid) plan_.curve.push_back(point(shape(std::llround(chunks))));
    return std::move(plan_);
  }

 private:
  [[nodiscard]] PromptShape shape(std::int64_t chunks) const { return {chunks, chunk_tokens_, query_}; }

  [[nodiscard]] std::int64_t chunks_in(std::int64_t tokens) const {
    return std::max<std::int64_t>(1, (tokens + chunk_tokens_ / 2) / chunk_tokens_);
  }

  [[nodiscard]] const FirstTokenModel& model(PromptMethod method) const {
    return *models_[static_cast<std::size_t>(method)];
  }

  /// Windows are what a user can do nothing about but ask for less.
  void check_windows(const PromptShape& prompt) const {
    const auto most = [&](std::int64_t window, double ratio) {
      const double tokens = std::floor(static_cast<double>(window) / ratio);
      return std::max<std::int64_t>(0, (static_cast<std::int64_t>(tokens) - query_ - plan_.output) / chunk_tokens_) *
             chunk_tokens_;
    };
    const models::LlmSpec& own = s_.serving.model;
    if (prompt.tokens() + plan_.output > own.max_context) {
      throw InputError(fmt::format(
          "--context: chunks of {} tokens with a query of {} and {} tokens of output are more than the window of {}, "
          "{} tokens: expected at most {}",
          prompt.context(), query_, plan_.output, own.name, own.max_context, most(own.max_context, 1)));
    }
    const models::ReuseSpec& spec = *model(PromptMethod::selective).config().reuse;
    const double ratio = std::max(spec.speculative.tokens_ratio, 1e-9);
    const double small = std::ceil(static_cast<double>(prompt.tokens()) * ratio);
    const models::LlmSpec& speculative = spec.speculative.model;
    if (spec.rho > 0 && spec.rho < 1 && small > static_cast<double>(speculative.max_context)) {
      throw InputError(fmt::format(
          "--context: chunks of {} tokens with a query of {} are more than the window of the speculative model {}, {} "
          "tokens: expected at most {}",
          prompt.context(), query_, speculative.name, speculative.max_context, most(speculative.max_context, ratio)));
    }
  }

  /// The most chunks of a prompt that recomputing has room for.
  [[nodiscard]] std::int64_t largest() const {
    const FirstTokenModel& recompute = model(PromptMethod::recompute);
    const std::int64_t window = s_.serving.model.max_context - query_ - plan_.output;
    const std::int64_t most = std::clamp<std::int64_t>(window / chunk_tokens_, 1, models::most_chunks_per_request);
    const auto too_long = [&](double chunks) {
      return !recompute.problem(shape(std::llround(chunks)), plan_.output).empty();
    };
    const std::vector<double> ends{1, static_cast<double>(most)};
    const HoldsWhere where = holds_where(too_long, ends, BisectIn::whole);
    return where.changes.empty() ? most : std::llround(where.changes.front()) - 1;
  }

  [[nodiscard]] double ttft_s(PromptMethod method, const PromptShape& prompt) const {
    return model(method).at(prompt, plan_.hit_rate).ttft_s(plan_.path);
  }

  [[nodiscard]] MethodEstimate method_estimate(const FirstTokenModel& m, const PromptShape& prompt) const {
    MethodEstimate o;
    o.method = m.method();
    o.label = m.label();
    o.relative_score = m.relative_score(prompt.chunks);
    if (plan_.quality_floor) o.good_share = m.good_share(prompt.chunks, *plan_.quality_floor);
    o.problem = m.problem(prompt, plan_.output);
    if (!o.problem.empty()) return o;
    o.parts = m.at(prompt, plan_.hit_rate);
    o.load_s = plan_.path.load_s(o.parts.loaded_bytes);
    o.ttft_s = o.parts.ttft_s(plan_.path);
    o.binding = o.parts.binding(plan_.path);
    return o;
  }

  [[nodiscard]] ContextEstimate estimate(const PromptShape& prompt) const {
    ContextEstimate c;
    c.prompt = prompt;
    for (const auto& m : models_) c.methods.push_back(method_estimate(*m, prompt));
    const MethodEstimate& recompute = c.methods[static_cast<std::size_t>(PromptMethod::recompute)];
    if (!recompute.problem.empty()) {
      throw Infeasible(
          fmt::format("{}: no plan for a context of {} tokens: a request {}: shorter contexts, more GPU "
                      "memory or a larger tensor-parallel group would make room",
                      s_.file, prompt.context(), recompute.problem));
    }
    const auto fastest = [&](double least_score, bool any_order) {
      std::optional<std::size_t> best;
      for (std::size_t i = 0; i < c.methods.size(); ++i) {
        const MethodEstimate& m = c.methods[i];
        if (!m.problem.empty() || m.relative_score < least_score) continue;
        if (any_order && m.method == PromptMethod::load) continue;
        if (!best || faster(m.ttft_s, c.methods[*best].ttft_s)) best = i;
      }
      return best;
    };
    c.fastest = fastest(0, false);
    if (plan_.quality_floor) c.good = fastest(*plan_.quality_floor, false);
    c.without_load = fastest(plan_.quality_floor.value_or(0), true);
    for (const MethodEstimate& m : c.methods) {
      if (!m.problem.empty()) continue;
      for (const PromptMethod other : opponents(m.method)) {
        if (c.methods[static_cast<std::size_t>(other)].problem.empty()) {
          c.break_evens.push_back(break_even(m.method, other, prompt));
        }
      }
    }
    return c;
  }

  [[nodiscard]] BreakEven break_even(PromptMethod method, PromptMethod other, const PromptShape& prompt) const {
    BreakEven b;
    b.method = method;
    b.against = other;
    const FirstToken own = model(method).at(prompt, plan_.hit_rate);
    const FirstToken against = model(other).at(prompt, plan_.hit_rate);
    b.bytes_per_s = where_faster(own, against);
    const auto chunks = static_cast<double>(prompt.chunks);
    const auto by_found = [&](double found) {
      return faster(model(method).at(prompt, found / chunks).ttft_s(plan_.path),
                    model(other).at(prompt, found / chunks).ttft_s(plan_.path));
    };
    b.hit_rate = holds_where(by_found, found_grid(prompt.chunks), BisectIn::whole);
    for (double& at : b.hit_rate.changes) at /= chunks;
    return b;
  }

  [[nodiscard]] HoldsWhere where_faster(const FirstToken& own, const FirstToken& against) const {
    const auto by_bandwidth = [&](double bytes_per_s) {
      LoadPath path = plan_.path;
      path.bytes_per_s = bytes_per_s;
      return faster(own.ttft_s(path), against.ttft_s(path));
    };
    return holds_where(by_bandwidth, bandwidth_grid(), BisectIn::logarithmic);
  }

  [[nodiscard]] bool usable(PromptMethod method, const PromptShape& prompt) const {
    return model(method).problem(prompt, plan_.output).empty();
  }

  void add_context_break_evens(const std::vector<double>& grid) {
    for (const auto& m : models_) {
      for (const PromptMethod other : opponents(m->method())) {
        const auto by_chunks = [&](double chunks) {
          const PromptShape prompt = shape(std::llround(chunks));
          return usable(m->method(), prompt) && faster(ttft_s(m->method(), prompt), ttft_s(other, prompt));
        };
        plan_.context_break_evens.push_back({m->method(), other, holds_where(by_chunks, grid, BisectIn::whole)});
      }
    }
  }

  [[nodiscard]] BreakEvenPoint point(const PromptShape& prompt) const {
    BreakEvenPoint p;
    p.prompt = prompt;
    const FirstToken recompute = model(PromptMethod::recompute).at(prompt, plan_.hit_rate);
    p.recompute_s = recompute.ttft_s(plan_.path);
    for (const auto& m : models_) {
      p.bytes_per_s.emplace_back();
      if (m->method() == PromptMethod::recompute || !usable(m->method(), prompt)) continue;
      const FirstToken own = m->at(prompt, plan_.hit_rate);
      const HoldsWhere where = where_faster(own, recompute);
      if (!where.at_first && !where.changes.empty()) p.bytes_per_s.back() = where.changes.front();
    }
    return p;
  }

  const scenario::Scenario& s_;
  Models models_;
  std::int64_t chunk_tokens_ = 1;
  std::int64_t query_ = 1;
  ReusePlan plan_;
};

}  // namespace

bool plans_reuse(const scenario::Scenario& s) {
  return s.workload.chunks && s.serving.decode.policy == "full_kv";
}

ReusePlan plan_reuse(const scenario::Scenario& s, const ReusePlanRequest& request) {
  if (!(request.hit_rate >= 0 && request.hit_rate <= 1)) {
    throw InputError(fmt::format("--hit-rate {}: expected a share from 0 to 1", request.hit_rate));
  }
  serving::ServingConfig moved = s.serving;
  models::LinkSpec& link = moved.cluster.groups.front().host_link;
  if (request.link) link = link_asked_for(*request.link, link, *s.catalogue);
  std::vector<std::int64_t> contexts = request.contexts;
  if (contexts.empty()) contexts.push_back(s.workload.chunks->tokens_per_request());
  return ReusePlanner(s, load_path(moved, request.tier), request.hit_rate).plan(contexts);
}

std::string decision_of(const MethodEstimate& method) {
  return blends(method.method) ? fmt::format("blend ({})", method.label) : method.label;
}

}  // namespace kvsim::planner
