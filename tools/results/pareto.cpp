#include "tools/results/plan.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "tools/results/fields.h"
#include "tools/results/functional.h"
#include "tools/results/provenance.h"

namespace kvsim::results {
namespace {

using planner::Choice;

constexpr std::string_view kLossy = "lossy";

std::string stated(const std::string& value, const schema::Source& source, const std::string& date) {
  return fmt::format("{} ({}{}{})", value, date.empty() ? "" : date + ", ", source_word(source.kind),
                     source.reference.empty() ? "" : ": " + source.reference);
}

/// Pages begin with the speed of each user.
const Fields<Choice>& choice_fields() {
  static const Fields<Choice> fields{
      {"policy", {kText, "decode policy: full_kv, draft_verify or lossy"}, &Choice::policy},
      Field<Choice>::part("plan", "draft length, keep ratio and batch", &Choice::point, operating_point_fields()),
      {"tokens_per_s_per_gpu",
       {kTokensPerS, kHigher, "output tokens/s over the number of GPUs"},
       &Choice::tokens_per_s_per_gpu},
      {"tokens_per_s_per_user",
       {kTokensPerS, kHigher, "output tokens/s of one request while it decodes"},
       "tokens/s/user",
       &Choice::tokens_per_s_per_user},
      {kOnPages, "tokens/s/GPU", &Choice::tokens_per_s_per_gpu},
      {"tpot_s",
       {kSeconds, kLower, "time per output token of a request"},
       [](const Choice& c) { return c.point.tpot_s(); }},
      {"quality", {kShare, kHigher, "task score relative to that with the full KV"}, "quality", &Choice::quality},
      {"functional",
       {kShare, kHigher,
        "functional correctness relative to the full KV, the least that is published; null: not known"},
       "functional",
       &Choice::functional},
      {"usd_per_1m_output_tokens",
       {kDollars, kLower, "cost of a million output tokens"},
       "$/1M tokens",
       &Choice::usd_per_1m_tokens},
      {"joules_per_output_token_at_most",
       {kJoulesPerToken, kLower, "energy of an output token with every GPU at its board power"},
       "J/token <=",
       &Choice::joules_per_token},
      {kOnPages, "policy", &Choice::policy, Align::left},
      {kOnPages, "x", [](const Choice& c) { return c.point.x; }},
      {kOnPages, "c", [](const Choice& c) { return c.point.c; }, keep_ratio_text},
      {kOnPages, "B_c", [](const Choice& c) { return c.point.batch.B_c; }},
      {kOnPages, "B_g", [](const Choice& c) { return c.point.batch.B_g; }}};
  return fields;
}

/// Choices with the output of full-KV decoding, from the fastest for each user to the most tokens/s. At most so many,
/// evenly.
Table lossless_table(const std::vector<Choice>& front) {
  constexpr std::size_t kShown = 20;
  std::vector<const Choice*> lossless;
  for (const Choice& c : front) {
    if (c.policy != kLossy) lossless.push_back(&c);
  }
  Table t = empty_table("Lossless: speed for each user against throughput", choice_fields());
  const std::size_t count = std::min(kShown, lossless.size());
  for (std::size_t i = 0; i < count; ++i) {
    t.rows.push_back(cells(choice_fields(), *lossless[count > 1 ? i * (lossless.size() - 1) / (count - 1) : 0]));
  }
  return t;
}

/// Batch with the most tokens/s of every keep ratio, best quality first.
Table lossy_table(const std::vector<Choice>& front) {
  std::map<double, const Choice*, std::greater<>> best;  // by keep ratio
  for (const Choice& c : front) {
    if (c.policy != kLossy) continue;
    const Choice*& at = best[c.point.c];
    if (!at || c.tokens_per_s_per_gpu > at->tokens_per_s_per_gpu) at = &c;
  }
  Table t = empty_table("Lossy: what giving up quality would bring, most tokens/s at each keep ratio", choice_fields());
  for (const auto& [c, choice] : best) t.rows.push_back(cells(choice_fields(), *choice));
  return t;
}

}  // namespace

ParetoFront pareto_front_of(const scenario::Scenario& scenario, const planner::PlanRequest& request,
                            const models::PriceTable& prices) {
  const models::GpuSpec& gpu = scenario.serving.cluster.uniform().gpu;
  ParetoFront front;
  if (const models::Price* price = prices.gpu(gpu.name)) {
    front.rates.usd_per_hour = price->usd.value;
    front.price = stated(fmt::format("{:g} USD/h a GPU", price->usd.value), price->usd.source, price->date);
  } else {
    front.price = fmt::format("the price table has no GPU {}", gpu.name);
  }
  if (gpu.board_power_w.value > 0) {
    front.rates.board_power_w = gpu.board_power_w.value;
    front.power = stated(fmt::format("{:g} W a GPU", gpu.board_power_w.value), gpu.board_power_w.source, "");
  } else {
    front.power = fmt::format("GPU {} has no board_power", gpu.name);
  }
  front.choices = planner::pareto_choices(scenario, request, front.rates);
  return front;
}

Fields<ParetoFront> pareto_fields() {
  using F = Field<ParetoFront>;
  return {
      F::values("objectives[]", {kText, "what no other choice has more of, all at once"},
                [](const ParetoFront&) {
                  return Json{"tokens_per_s_per_gpu", "tokens_per_s_per_user", "quality"};
                }),
      F::list("points", "the front, the fastest for each user first", &ParetoFront::choices, choice_fields()),
      {"price", {kText, "price of a GPU and where it is from, or why there is none"}, &ParetoFront::price},
      {"board_power", {kText, "board power of a GPU and where it is from, or why there is none"}, &ParetoFront::power}};
}

Page pareto_page(const ParetoFront& front) {
  Page page;
  page.title = "What cannot be had together";
  page.subtitle = {
      "Nothing else of full_kv, draft_verify and lossy decoding gives more tokens/s per GPU, more to each user and "
      "more "
      "quality at once. By the closed forms; on one machine cost and energy per token follow from tokens/s per GPU. "
      "All "
      "points with --json."};
  page.tables.push_back(lossless_table(front.choices));
  if (Table lossy = lossy_table(front.choices); !lossy.rows.empty()) page.tables.push_back(std::move(lossy));
  page.lists.push_back({"notes",
                        {"price: " + front.price, "board power, drawn throughout: " + front.power,
                         "quality: task score relative to the full KV; lossy at keep ratios without a published score "
                         "is left out",
                         functional_note("functional")}});
  return page;
}

}  // namespace kvsim::results
