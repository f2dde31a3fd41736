#include "tools/results/explain_page.h"
#include "tools/results/plan_document.h"

namespace kvsim::results {
namespace {

using planner::Explanation;

constexpr std::string_view kOneObservation = "an interval needs two observations";
constexpr std::string_view kNoPlan = "nothing fits";

Section binding(Section s, const Explanation& e) {
  s.set("sentence", explain_sentence(e));
  if (e.binding) {
    s.set("resource", std::string(planner::name_of(*e.binding).key));
  } else {
    s.missing("resource", e.load_bound ? "the plan serves all that is offered" : "no gain exceeds its interval");
  }
  s.number("output_tokens_per_s", e.tokens_per_s, "no time was measured");
  s.number("half_width_95", e.half_width_95, kOneObservation);
  s.count("replications", e.replications);
  Section shares = s.child("time_shares");
  shares.number("hbm_bandwidth", e.shares.hbm_bandwidth, "").number("compute", e.shares.compute, "");
  shares.number("link", e.shares.link, "").number("idle", e.shares.idle, "");
  s.set("time_shares", shares);
  s.number("short_of_gpu_memory", e.shares.short_of_memory, "");
  return s;
}

Section utilisation(Section s, const Explanation& e) {
  const planner::Utilisation& u = e.utilisation;
  s.number("gpu_busy", u.gpu_busy, "").number("host_to_gpu", u.link_to_gpu, "");
  s.number("gpu_to_host", u.link_to_host, "").number("hbm_bytes", u.hbm_bytes, "");
  s.number("hbm_peak_bytes", u.hbm_peak_bytes, "").number("hbm_mean_bytes", u.hbm_mean_bytes, "");
  s.ratio("hbm_peak", u.hbm_peak_bytes, u.hbm_bytes, "no GPU memory");
  s.ratio("hbm_mean", u.hbm_mean_bytes, u.hbm_bytes, "no GPU memory");
  return s;
}

Section stalls(Section s, const Explanation& e) {
  const planner::Stalls& t = e.stalls;
  s.count("request_iterations", t.request_iterations);
  s.number("drafting", t.drafting, "").number("verifying", t.verifying, "");
  s.number("late_reload", t.late_reload, "").number("otherwise", t.otherwise, "");
  s.count("rounds", t.rounds).count("late_rounds", t.late_rounds).count("preemptions", t.preemptions);
  s.number("link_wait_s", t.link_wait_s, "nothing was moved to the GPU");
  return s;
}

Section change(Section s, const planner::Change& c) {
  s.number("relative", c.relative, kOneObservation).number("half_width_95", c.half_width_95, kOneObservation);
  return s;
}

Section elasticities(Section s, const Explanation& e) {
  for (const planner::Elasticity& one : e.elasticities) {
    const std::string key(planner::name_of(one.factor).key);
    Section item = s.child(key);
    item.number("elasticity", one.value(), kOneObservation);
    item.set("kept", change(item.child("kept"), one.kept));
    item.set("replanned", change(item.child("replanned"), one.replanned));
    item.set("same_plan", one.same_plan).set("plan", operating_point(one.plan));
    s.set(key, item);
  }
  return s;
}

Section margin_side(Section s, const planner::MarginSide& side) {
  if (!side.factor) {
    return s.missing("factor", "the plan stays the best").missing("plan", "the plan stays the best").set("change", "");
  }
  s.number("factor", *side.factor, "").set("change", side.change);
  return side.plan ? s.set("plan", operating_point(*side.plan)) : s.missing("plan", kNoPlan);
}

Section margins(Section s, const Explanation& e) {
  for (const planner::Margin& m : e.margins) {
    const std::string key(planner::name_of(m.factor).key);
    Section item = s.child(key);
    item.set("down", margin_side(item.child("down"), m.down));
    item.set("up", margin_side(item.child("up"), m.up));
    s.set(key, item);
  }
  s.set("searched", e.searched);
  return s;
}

Json runner_up(const Explanation& e) {
  Json list = Json::array();
  for (const planner::Alternative& a : e.alternatives) {
    Json item = {{"what", a.what}, {"fits", a.plan.has_value()}};
    if (a.plan) {
      item["loss"] = a.loss;
      item["plan"] = operating_point(*a.plan);
    }
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

void add_explanation(Json& plan_document, const Explanation& e) {
  Json& reasons = plan_document["details"]["reasons"];
  Section s("explanation", reasons);
  s.set("plan", operating_point(e.plan));
  s.set("binding", binding(s.child("binding"), e));
  s.set("utilisation", utilisation(s.child("utilisation"), e));
  s.set("stalls", stalls(s.child("stalls"), e));
  s.set("elasticities", elasticities(s.child("elasticities"), e));
  s.set("margins", margins(s.child("margins"), e));
  s.set("runner_up", runner_up(e));
  s.set("remarks", e.remarks);
  plan_document["explanation"] = s.take();
}

}  // namespace kvsim::results
