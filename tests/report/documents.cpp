#include "tests/report/documents.h"

#include <gtest/gtest.h>

namespace kvsim::report {
namespace {

Json header(const std::string& scenario) {
  return {{"schema_version", 1}, {"kvsim_version", "0.1.0"}, {"scenario", scenario}, {"seed", 1}};
}

Json latency(double mean) {
  return {{"mean", mean}, {"p50", mean}, {"p90", mean * 2}, {"p95", mean * 2}, {"p99", mean * 3}, {"max", mean * 3}};
}

Json point(double x, double c) {
  return {{"x", x},          {"c", c},          {"B_c", 11}, {"B_g", 0}, {"l", 3}, {"throughput_tokens_per_s", 250},
          {"t_gpu_s", 0.03}, {"t_xfer_s", 0.02}};
}

}  // namespace

Json run_document(const std::string& policy, double tokens_per_s) {
  Json d = header("by hand");
  d["requests"] = {{"arrived", 10}, {"completed", 10}};
  d["throughput"] = {{"output_tokens_per_s", tokens_per_s},
                     {"output_tokens_per_s_per_gpu", tokens_per_s / 2},
                     {"requests_per_s", 1.5}};
  d["latency_s"] = {{"ttft", latency(0.5)}, {"tpot", latency(0.02)}, {"e2e", latency(2)}};
  d["slo"] = {{"attainment", 0.99}, {"goodput_requests_per_s", 1.5}};
  d["quality"] = {{"mean_score", 1.0}, {"lossless", true}};
  d["gpu"] = {{"bound_by", {{"hbm_bandwidth", 0.6}, {"compute", 0.1}, {"link", 0.2}, {"idle", 0.1}}},
              {"twice", {{"hbm_bandwidth", 0.43}, {"compute", 0.05}, {"link", 0.11}}}};
  d["confidence"] = {{"throughput.output_tokens_per_s", {{"half_width_95", 10}}}};
  d["details"] = {{"policies", {{"asked", policy}}}, {"measured_s", 60}, {"replications", 1}};
  return d;
}

Json lossy_run(const std::string& policy, double tokens_per_s, double score) {
  Json d = run_document(policy, tokens_per_s);
  d["quality"] = {{"mean_score", score}, {"lossless", false}};
  return d;
}

Json compare_document(const std::vector<Json>& runs) {
  Json d = header("by hand");
  d["baseline"] = runs.empty() ? Json("full_kv") : runs.front()["details"]["policies"]["asked"];
  d["results"] = runs.empty() ? Json::array() : Json(runs);
  return d;
}

Json plan_document() {
  Json d = header("by hand");
  d["model"] = "rings";
  d["optimum"] = point(32, 0.2);
  d["speedup"] = 2.5;
  d["details"] = {{"heat_map",
                   {{"draft_length", {16, 32}},
                    {"keep_ratio", {0.1, 0.2}},
                    {"throughput_tokens_per_s", {{150, nullptr}, {200, 250}}}}}};
  return d;
}

Json simulated_plan() {
  Json d = plan_document();
  const Json best = {{"x", 27}, {"c", 0.2}, {"B_c", "open"}, {"B_g", "open"}};
  d["simulated"] = {{"best", best},
                    {"throughput_tokens_per_s", {{"mean", 200}, {"half_width_95", 4}, {"replications", 5}}},
                    {"speedup", {{"mean", 2.0}, {"half_width_95", 0.05}}},
                    {"predicted_over_simulated", 0.96},
                    {"simulations", 12},
                    {"candidates", Json::array({{{"origin", "beside a better one"},
                                                 {"plan", best},
                                                 {"predicted_tokens_per_s", 192},
                                                 {"simulated_tokens_per_s", 200},
                                                 {"replications", 5}}})}};
  return d;
}

Json explanation(const std::vector<Gain>& gains) {
  Json e = {{"binding", {{"resource", "hbm_capacity"}, {"sentence", "GPU memory binds."}}}};
  for (const Gain& g : gains) {
    e["elasticities"][g.of] = {{"replanned", {{"relative", g.relative}, {"half_width_95", g.half_width}}}};
  }
  return e;
}

Json capacity_document() {
  Json d = header("by hand");
  d["slo"] = {{"ttft_p99_s", 0.5}, {"tpot_p99_s", 0.05}};
  d["attainment_target"] = 0.99;
  d["confidence"] = 0.95;
  Json probes = Json::array();
  for (const double rate : {40.0, 80.0, 160.0}) {
    probes.push_back({{"stage", "search"},
                      {"rate", rate},
                      {"attainment", rate > 100 ? 0.5 : 1.0},
                      {"lower", rate > 100 ? 0.46 : 0.995},
                      {"ttft_p99_s", rate / 200},
                      {"tpot_p99_s", 0.02}});
  }
  d["configurations"] = Json::array({{{"machine", "h100-sxm"},
                                      {"tensor_parallel", 2},
                                      {"policy", "full_kv"},
                                      {"rate_per_replica", 80.0},
                                      {"probes", probes}}});
  return d;
}

Json fleet_document() {
  Json d = capacity_document();
  d["rate_required"] = 100;
  d["configurations"][0]["fleet"] = {{"replicas", 2},        {"gpus", 4},
                                     {"usd_per_hour", 10.0}, {"usd_per_1m_output_tokens", 0.35},
                                     {"simulated", true},    {"attainment_lower", 0.995}};
  return d;
}

Json sweep_document(std::size_t draft_lengths, std::size_t keep_ratios) {
  Json d = header("by hand");
  d["design"] = "grid";
  Json xs = Json::array(), cs = Json::array(), points = Json::array();
  for (std::size_t i = 0; i < draft_lengths; ++i) xs.push_back(i + 1);
  for (std::size_t i = 0; i < keep_ratios; ++i) cs.push_back(static_cast<double>(i + 1) / 10);
  for (const Json& x : xs) {
    for (const Json& c : cs) {
      Json run = run_document("draft_verify", 100 + static_cast<double>(points.size()));
      run["confidence"]["throughput.output_tokens_per_s"]["half_width_95"] = 0.5;
      points.push_back({{"set", {{"decode.draft_length", x}, {"decode.keep_ratio", c}}}, {"result", std::move(run)}});
    }
  }
  d["axes"] =
      Json::array({{{"path", "decode.draft_length"}, {"values", xs}}, {{"path", "decode.keep_ratio"}, {"values", cs}}});
  if (!points.empty()) {
    d["best"] = {
        {"metric", "throughput.output_tokens_per_s"}, {"value", 99 + points.size()}, {"set", points.back()["set"]}};
  }
  d["points"] = std::move(points);
  return d;
}

Json timeline() {
  return {{"period_s", 1},
          {"warmup_s", 1},
          {"time_s", {1, 2}},
          {"running", {3, 4}},
          {"waiting", {0, 7}},
          {"kv_bytes", {30e9, 50e9}},
          {"kv_capacity_bytes", 60e9},
          {"kv_parts_bytes", {{"resident", {20e9, 30e9}}, {"streaming", {10e9, 20e9}}}},
          {"gpu", {{"hbm_bandwidth", {0.5, 0.6}}, {"compute", {0.1, 0.1}}, {"link", {0.3, 0.3}}, {"idle", {0.1, 0}}}},
          {"links", {{"host_to_gpu", {0.25, 0.75}}}}};
}

Json memory_document() {
  return {{"gpu_bytes", 100e9},
          {"kept_free_bytes", 10e9},
          {"weights_bytes", 40e9},
          {"activations_bytes", 4e9},
          {"other_bytes", 1e9},
          {"kv_capacity_bytes", 45e9},
          {"kv",
           {{"resident_mean_bytes", 20e9},
            {"streaming_mean_bytes", 10e9},
            {"unused_mean_bytes", 15e9},
            {"streaming_peak_bytes", 12e9},
            {"reserved_peak_bytes", 35e9}}}};
}

std::vector<Json> one_of_each() {
  Json run = run_document("draft_verify", 120);
  run["timeline"] = timeline();
  run["details"]["memory"] = memory_document();
  run["details"]["latency_distribution_s"] = {{"fractions", {0.5, 0.99, 1.0}}, {"ttft", {0.5, 1.0, 2.0}}};
  run["details"]["assumptions"] = {"contexts are alike"};
  run["details"]["definitions"] = {{"TPOT", "time per output token"}};
  run["details"]["resolved_scenario"] = "name: by hand\n";
  Json compare = compare_document({run_document(), run, lossy_run("lossy", 200, 0.9)});
  Json plan = simulated_plan();
  plan["explanation"] = explanation({{"hbm_capacity", 0.08, 0.01}, {"link_bandwidth", 0.02, 0.03}});
  plan["pareto"] = {{"points", Json::array({{{"policy", "draft_verify"},
                                             {"plan", plan["optimum"]},
                                             {"quality", 1.0},
                                             {"tokens_per_s_per_gpu", 100},
                                             {"tokens_per_s_per_user", 30}}})}};
  Json other = {
      {"schema_version", 1}, {"scenario", "by hand"}, {"figures", Json::array({{{"name", "a"}, {"value", 1}}})}};
  return {run, compare, plan, fleet_document(), sweep_document(), other};
}

Inputs inputs_of(const std::vector<Json>& documents) {
  Inputs inputs;
  for (const Json& d : documents) inputs.add(d, "by hand");
  return inputs;
}

Page report_of(const std::vector<Json>& documents) {
  return make_report(inputs_of(documents));
}

Fact only(const std::vector<Json>& documents, const std::string& question) {
  const std::vector<Fact> facts = facts_of(documents, question);
  EXPECT_EQ(facts.size(), 1) << question;
  return facts.empty() ? Fact{} : facts.front();
}

bool says(const Fact& fact, const std::string& words) {
  return fact.detail.find(words) != std::string::npos;
}

std::vector<Fact> facts_of(const std::vector<Json>& documents, const std::string& question) {
  std::vector<Fact> found;
  for (const Block& block : decision(inputs_of(documents)).blocks) {
    for (const Fact& f : std::get<Facts>(block).facts) {
      if (f.question == question) found.push_back(f);
    }
  }
  return found;
}

Plot plot_of(const Section& section, const std::string& id) {
  for (const Block& block : section.blocks) {
    if (const auto* p = std::get_if<Plot>(&block); p && p->id == id) return *p;
  }
  ADD_FAILURE() << "no plot " << id;
  return {};
}

}  // namespace kvsim::report
