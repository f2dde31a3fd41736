#include "tools/results/plan.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "tools/results/fields.h"
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
const Fields<Choice> kChoiceFields{{"policy", &Choice::policy},
                                   {"plan", [](const Choice& c) { return operating_point(c.point); }},
                                   {"tokens_per_s_per_gpu", &Choice::tokens_per_s_per_gpu},
                                   {"tokens_per_s_per_user", "tokens/s/user", &Choice::tokens_per_s_per_user},
                                   {"", "tokens/s/GPU", &Choice::tokens_per_s_per_gpu},
                                   {"tpot_s", [](const Choice& c) { return c.point.tpot_s(); }},
                                   {"quality", "quality", &Choice::quality, percent},
                                   {"usd_per_1m_output_tokens", "$/1M tokens", &Choice::usd_per_1m_tokens},
                                   {"joules_per_output_token_at_most", "J/token <=", &Choice::joules_per_token},
                                   {"", "policy", &Choice::policy, Align::left},
                                   {"", "x", [](const Choice& c) { return c.point.x; }},
                                   {"", "c", [](const Choice& c) { return c.point.c; }, keep_ratio_text},
                                   {"", "B_c", [](const Choice& c) { return c.point.batch.B_c; }},
                                   {"", "B_g", [](const Choice& c) { return c.point.batch.B_g; }}};

/// What keeps the output of full-KV decoding, from the fastest for each user to the most tokens/s. At most so many,
/// evenly.
Table lossless_table(const std::vector<Choice>& front) {
  constexpr std::size_t kShown = 20;
  std::vector<const Choice*> lossless;
  for (const Choice& c : front) {
    if (c.policy != kLossy) lossless.push_back(&c);
  }
  Table t = empty_table("Lossless: speed for each user against throughput", kChoiceFields);
  const std::size_t count = std::min(kShown, lossless.size());
  for (std::size_t i = 0; i < count; ++i) {
    t.rows.push_back(cells(kChoiceFields, *lossless[count > 1 ? i * (lossless.size() - 1) / (count - 1) : 0]));
  }
  return t;
}

/// Of every keep ratio the batch with the most tokens/s, best quality first.
Table lossy_table(const std::vector<Choice>& front) {
  std::map<double, const Choice*, std::greater<>> best;  // by keep ratio
  for (const Choice& c : front) {
    if (c.policy != kLossy) continue;
    const Choice*& at = best[c.point.c];
    if (!at || c.tokens_per_s_per_gpu > at->tokens_per_s_per_gpu) at = &c;
  }
  Table t = empty_table("Lossy: what giving up quality would bring, most tokens/s at each keep ratio", kChoiceFields);
  for (const auto& [c, choice] : best) t.rows.push_back(cells(kChoiceFields, *choice));
  return t;
}

}  // namespace

ParetoFront pareto_front_of(const scenario::Scenario& scenario, const planner::PlanRequest& request,
                            const models::PriceTable& prices) {
  const models::GpuSpec& gpu = scenario.serving.cluster.gpu;
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

Json pareto_document(const ParetoFront& front) {
  return {{"objectives", {"tokens_per_s_per_gpu", "tokens_per_s_per_user", "quality"}},
          {"points", array(kChoiceFields, front.choices)},
          {"price", front.price},
          {"board_power", front.power}};
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
                         "is left out"}});
  return page;
}

}  // namespace kvsim::results
