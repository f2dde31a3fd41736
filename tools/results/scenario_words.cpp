#include "tools/results/scenario_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "tools/results/numbers.h"

namespace kvsim::results {

std::vector<LatencyColumn> latency_columns(const std::vector<serving::SloObjective>& objectives) {
  constexpr std::size_t kBeside = 2;  // whose names fit on one line
  constexpr std::size_t kLast = serving::kSloPercentiles.size() - 1;
  const auto column = [](const serving::SloObjective& of, bool limited, std::size_t position, char between) {
    return LatencyColumn{of, limited, position, serving::slo_name(of, between),
                         serving::slo_key(of.metric, of.percentile)};
  };
  std::vector<LatencyColumn> all;
  for (const serving::SloMetricEntry& metric : serving::kSloMetrics) {
    bool any = false;
    for (std::size_t i = 0; i < objectives.size(); ++i) {
      if (objectives[i].metric != metric.metric) continue;
      all.push_back(column(objectives[i], true, i, objectives.size() > kBeside ? '\n' : ' '));
      any = true;
    }
    const bool usual = metric.metric == serving::SloMetric::ttft || metric.metric == serving::SloMetric::tpot;
    if (usual && !any && objectives.size() <= kBeside) all.push_back(column({metric.metric, kLast, 0}, false, 0, ' '));
  }
  return all;
}

std::string_view group_word(const serving::ClusterConfig& cluster) {
  return cluster.topology().instance;
}

namespace {

/// "4 x h100-sxm (TP 2, PP 2)"
std::string gpus_text(const serving::GroupConfig& group) {
  const models::Parallelism& p = group.parallel;
  std::string text = fmt::format("{} x {}", p.gpus(), group.gpu.name);
  std::vector<std::string> cut;
  const auto add = [&cut](const char* what, std::int64_t n) {
    if (n > 1) cut.push_back(fmt::format("{} {}", what, n));
  };
  if (!p.tensor_only() || p.expert > 1) {
    add("TP", p.tensor);
    add("attention DP", p.attention_data);
    add("EP", p.expert);
    add("PP", p.pipeline);
    text += fmt::format(" ({})", fmt::join(cut, ", "));
  }
  if (group.scorer_gpus > 0) text += fmt::format(" and {} to score", group.scorer_gpus);
  return text;
}

}  // namespace

std::string machines_text(const serving::ClusterConfig& cluster) {
  const serving::Topology topology = cluster.topology();
  const bool several = topology.instances.size() > 1;
  if (!several && cluster.replicas() == 1) return gpus_text(cluster.groups.front());
  const std::vector<const serving::GroupConfig*> kinds = serving::kinds(cluster);
  std::vector<std::string> pools;
  const char* plural = "s";
  for (const serving::InstancePool& pool : topology.instances) {
    const serving::GroupConfig& group = pool.group;
    if (group.count == 0) continue;
    plural = group.count == 1 ? "" : "s";
    pools.push_back(several ? fmt::format("{} {}", group.count, group.name) : fmt::format("{}", group.count));
    if (kinds.size() > 1) pools.back() += fmt::format(" {}{} of {}", topology.instance, plural, gpus_text(group));
  }
  if (kinds.size() > 1) return fmt::format("{}", fmt::join(pools, " and "));
  return fmt::format("{} {}{} of {}", fmt::join(pools, " and "), topology.instance, plural, gpus_text(*kinds.front()));
}

std::string_view prefill_word(serving::PrefillKind prefill) {
  switch (prefill) {
    case serving::PrefillKind::recompute:
      return "recompute";
    case serving::PrefillKind::stored:
      return "stored";
    case serving::PrefillKind::prefix_cache:
      return "prefix_cache";
    case serving::PrefillKind::full_reuse:
      return "full_reuse";
    case serving::PrefillKind::selective:
      return "selective";
    case serving::PrefillKind::cacheblend:
      return "cacheblend";
    case serving::PrefillKind::epic:
      break;
  }
  return "epic";
}

std::string kept_text(const serving::DecodeConfig& decode) {
  return decode.budget ? fmt::format("budget {}", counted(*decode.budget, "token"))
                       : fmt::format("keep ratio {:.4g}", decode.keep_ratio);
}

namespace {

using models::AcceptanceKind;
using models::DrafterKind;
using serving::DecodePolicy;
using serving::FullKv;
using serving::PrefillKind;
using serving::ServingConfig;

const DecodePolicy& policy_of(const ServingConfig& config) {
  return *serving::find_decode_policy(config.decode.policy);
}

/// Choice that the policy drafts on or decodes with; empty where that is the full KV.
std::string own_choice_text(const ServingConfig& config) {
  const DecodePolicy& decode = policy_of(config);
  const serving::DecodeConfig own = serving::own_drafts(config.decode);
  if (drafts_as_found(config)) {
    return drafts_until_computed(config) ? " on prompts as they are put together" : " on prompts as they are stored";
  }
  if (!decode.reads_compressed) return "";
  if (decode.keeps_full) {
    const std::string part = own.budget ? counted(*own.budget, "token") : fmt::format("{:.4g}", own.keep_ratio);
    return fmt::format(" reading {} of the KV, chosen by {}", part, own.compressor.name);
  }
  return fmt::format(" with {}, {}", own.compressor.name, kept_text(own));
}

/// Tasks whose scores are of another model, or of tokens that another small model chose.
std::vector<std::string> published_for_others(const serving::ServingConfig& c) {
  const bool selective = c.prefill == PrefillKind::selective;
  std::vector<std::string> said;
  for (const models::RagTask& task : c.tasks) {
    if (!task.model.empty() && task.model != c.model.name) {
      said.push_back(fmt::format("Scores of {} are those of {}: {} is taken to lose as much by reuse.", task.name,
                                 task.model, c.model.name));
    }
    const std::string& small = c.reuse->speculative.model.name;
    if (selective && !task.speculative_model.empty() && task.speculative_model != small) {
      said.push_back(fmt::format("Scores of {} are those of tokens that {} chose: {} is taken to choose as well.",
                                 task.name, task.speculative_model, small));
    }
  }
  return said;
}

}  // namespace

bool has_drafter(const scenario::Scenario& scenario) {
  return policy_of(scenario.serving).drafter;
}

bool something_drafts(const scenario::Scenario& scenario) {
  return policy_of(scenario.serving).drafts();
}

bool holds_low_bit_copy_or_fetches(const scenario::Scenario& scenario) {
  const DecodePolicy& decode = policy_of(scenario.serving);
  return decode.low_bit_copy || decode.fetch != serving::Fetch::none;
}

bool drafts_as_found(const ServingConfig& config) {
  return serving::drafts_as_found(config, policy_of(config));
}

bool drafts_until_computed(const ServingConfig& config) {
  return serving::full_kv_of(config, policy_of(config)) == FullKv::recomputed;
}

bool reads_own_choice(const ServingConfig& config) {
  return policy_of(config).reads_compressed && !drafts_as_found(config);
}

std::string decoding_text(const ServingConfig& config) {
  const DecodePolicy& decode = policy_of(config);
  std::string text = std::string(decode.name) + own_choice_text(config);
  if (decode.drafter) {
    const serving::DrafterConfig& drafter = *config.decode.drafter;
    text += fmt::format(", {} proposing {} token{} a step", drafter.spec.name, drafter.tokens(),
                        drafter.tokens() == 1 ? "" : "s");
  }
  if (decode.verifies) text += fmt::format(", draft length {}", draft_length_text(serving::own_drafts(config.decode)));
  return text;
}

std::string acceptance_text(const models::AcceptanceSpec& law) {
  switch (law.kind) {
    case AcceptanceKind::constant:
      return fmt::format("{:.4g} a token", law.agreement);
    case AcceptanceKind::step_kl:
      return fmt::format("exp(-{:.4g}) a token", law.step_kl_nats);
    case AcceptanceKind::heterogeneous:
      return fmt::format("{:.4g} a token, from request to request another", law.agreement);
    case AcceptanceKind::positions:
      return fmt::format("{:.4g} up to each position", fmt::join(law.positions, ", "));
    case AcceptanceKind::curve:
      return "curve";
    case AcceptanceKind::recorded:
      return "recorded lengths";
    case AcceptanceKind::compressor:
      break;
  }
  return "as of the compressor";
}

std::string draft_length_text(const serving::DecodeConfig& decode) {
  const serving::DraftLengthConfig& c = decode.draft_lengths;
  if (c.policy == "fixed") return fmt::format("{}", serving::fixed_draft_length(decode));
  if (c.policy == "table") return c.policy;
  return fmt::format("{} ({} to {})", c.policy, c.minimum, c.maximum);
}

std::string prefill_text(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  if (c.prefill == PrefillKind::recompute) return "full_recompute";
  std::string text(prefill_word(c.prefill));
  const bool selective = c.prefill == PrefillKind::selective;
  if (selective || c.prefill == PrefillKind::cacheblend) text += fmt::format(", rho {:.4g}", c.reuse->rho);
  if (selective) text += fmt::format(", scored by {}", c.reuse->speculative.model.name);
  if (c.prefill == PrefillKind::epic) text += fmt::format(", {} tokens of every chunk", c.reuse->link_tokens);
  return text;
}

std::vector<std::string> parallelism_assumptions(const serving::ClusterConfig& cluster) {
  models::Parallelism p;  // the most of any group
  for (const serving::GroupConfig* group : serving::kinds(cluster)) {
    p.attention_data = std::max(p.attention_data, group->parallel.attention_data);
    p.expert = std::max(p.expert, group->parallel.expert);
    p.expert_imbalance = std::max(p.expert_imbalance, group->parallel.expert_imbalance);
    p.pipeline = std::max(p.pipeline, group->parallel.pipeline);
  }
  std::vector<std::string> said;
  if (p.attention_data > 1) {
    said.emplace_back(
        "Requests are spread evenly over ranks and their KV over the ranks' memory, a prompt's chunk is on one rank, "
        "in that rank's part of the step's tokens, and all ranks take every step together; schedule limits are those "
        "of all ranks. Their memory is one: where a request takes a large part of a rank's, more run than ranks have "
        "room for.");
    said.emplace_back(
        "Ranks gather the hidden states of all tokens before routed experts and scatter their sums after them; dense "
        "layers, shared experts and the LM head are shared by tensor parallelism alone.");
  }
  if (p.expert > 1) {
    said.push_back(
        fmt::format("Tokens choose experts at random, all alike; the GPU with most tokens has what chance gives it{}.",
                    p.expert_imbalance > 1 ? fmt::format(", times {:g}", p.expert_imbalance) : ""));
  }
  if (p.pipeline > 1) {
    said.push_back(
        fmt::format("Every step is cut into up to {} passes alike, of all requests and chunks, and takes as long as "
                    "the slowest stage "
                    "with all of them, or one pass through all stages.",
                    p.pipeline));
  }
  return said;
}

std::vector<std::string> drafting_assumptions(const scenario::Scenario& scenario) {
  const ServingConfig& c = scenario.serving;
  const DecodePolicy& decode = policy_of(c);
  std::vector<std::string> said;
  if (decode.drafter) {
    const models::DrafterSpec& drafter = c.decode.drafter->spec;
    if (decode.reads_compressed) {
      said.push_back(
          fmt::format("Of {}'s tokens as many are accepted where the step reads a part of the KV, or a "
                      "compressed one, as where it reads all of it.",
                      drafter.name));
    }
    if (c.prefill == serving::PrefillKind::stored || c.placement) {
      said.push_back(
          fmt::format("{}'s own KV of a stored prompt is stored and loaded with the prompt's.", drafter.name));
    }
    if (drafter.kind == DrafterKind::model && !drafter.targets.empty() && !drafter.drafts_for(c.model.name)) {
      said.push_back(fmt::format("{} was measured with {}: it is taken to draft as well for {}.", drafter.name,
                                 fmt::join(drafter.targets, " and "), c.model.name));
    }
    if (decode.fetch == serving::Fetch::speculative) {
      said.push_back(
          fmt::format("The speculative tokens behind {}'s tokens choose the pairs to fetch as well as one "
                      "behind the model's own token does.",
                      drafter.name));
    }
  }
  if (!drafts_as_found(c)) return said;
  if (serving::full_kv_of(c, policy_of(c)) == FullKv::tiers) {
    said.emplace_back(
        "What is stored compressed is also written whole to the last tier, once, and never leaves it: verifications "
        "read there what the compressed copy lacks.");
    if (c.decode.acceptance.kind == AcceptanceKind::compressor) {
      said.emplace_back(
          "Drafts on a stored prompt agree with the whole one by exp(-KL per step) of its representation, over the "
          "tokens of a prompt the mean KL.");
    }
  } else {
    said.emplace_back(
        "Drafts on prompts that were put together agree with whole ones as decode.acceptance says; nobody has "
        "published how they do.");
  }
  return said;
}

std::vector<std::string> reuse_assumptions(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  if (c.tasks.empty()) return {};
  std::vector<std::string> names;
  for (const models::RagTask& task : c.tasks) names.push_back(task.name);
  std::vector<std::string> said;
  said.push_back(fmt::format(
      "Answers belong to {} in turn; the score of each is drawn from a beta distribution around its task's mean, the "
      "request's quantile being the same under every policy.",
      fmt::join(names, ", ")));
  if (!c.reuse) return said;
  for (const std::string& other : published_for_others(c)) said.push_back(other);
  said.emplace_back(
      "Scores are relative to the model's own with all of the prompt computed, and take no notice of the "
      "number (beyond one) and length of chunks or of which importances chose the tokens.");
  said.emplace_back(c.reuse->attention == models::RowAttention::whole
                        ? "A token that is computed again takes the time to attend to the whole prompt."
                        : "A token that is computed again takes the time to attend to what is before it.");
  if (c.prefill != PrefillKind::selective) {
    said.push_back(fmt::format("Scores of {} are generated from those of selective reuse.", prefill_word(c.prefill)));
  } else {
    said.emplace_back(
        "Scores at a rho between those published are interpolated; at 0 "
        "they are those of full reuse, which are assumed.");
    if (c.reuse->spans.budget > 1 && models::completes_spans(c.reuse->spans)) {
      said.push_back(fmt::format(
          "Completed spans may take up to {:g} times the tokens that rho selects; scores are taken as those at rho.",
          c.reuse->spans.budget));
    }
    said.push_back(fmt::format("Finding spans and aligning tokens takes a CPU {:g} ns a token of the prompt{}.",
                               c.reuse->speculative.align_s_per_token * 1e9,
                               c.reuse->speculative.own_tokenizer ? "; texts have 4 characters a token" : ""));
    if (c.scored_prompts) {
      said.push_back(fmt::format("Importances are those of the {} prompts of {}, in turn.", c.scored_prompts->size(),
                                 c.reuse->importance.path));
    }
    if (c.reuse->importance.source == models::ImportanceSource::generated) {
      said.push_back(
          fmt::format("Importances are generated: log-normal, neighbours correlated by {:g}, {} different "
                      "prompts in turn.",
                      c.reuse->importance.shape.correlation, c.reuse->importance.signals));
    }
  }
  return said;
}

std::string tiers_text(const serving::ServingConfig& c) {
  const bool several = c.cluster.replicas() > 1;
  const auto whose = [&](bool shared) -> std::string {
    if (!several) return "";
    return shared ? fmt::format(" shared by {} replicas", whole(c.cluster.replicas())) : " a replica";
  };
  std::vector<std::string> tiers;
  if (c.placement->gpu_memory_bytes > 0) {
    tiers.push_back("GPU memory " + bytes(static_cast<double>(c.placement->gpu_memory_bytes)) + whose(false));
  }
  if (c.cluster.groups.front().host_memory_bytes > 0) {
    const double share = static_cast<double>(c.cluster.groups.front().host_memory_bytes);
    const double all = c.cluster.host_shared ? share * static_cast<double>(c.cluster.replicas()) : share;
    tiers.push_back("host memory " + bytes(all) + whose(c.cluster.host_shared));
  }
  for (const serving::StorageTierConfig& tier : c.cluster.storage) {
    tiers.push_back(tier.name + " " +
                    (tier.capacity_bytes ? bytes(static_cast<double>(*tier.capacity_bytes)) : "without end") +
                    whose(tier.shared));
  }
  return fmt::format("{}", fmt::join(tiers, ", "));
}

}  // namespace kvsim::results
