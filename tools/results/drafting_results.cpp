#include "tools/results/drafting_results.h"

#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/serving/decode_policy.h"
#include "tools/results/draft_length_results.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using models::AcceptanceKind;
using models::DrafterKind;
using serving::DecodePolicy;
using serving::DrafterMeasurement;
using serving::ServingConfig;
using serving::WholeKv;

constexpr std::string_view kNothingProposed = "the drafter proposed nothing";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kDrafterDefinitions{{
    {"drafter",
     "of the auxiliary drafter; where the policy drafts on something itself, what of the proposed tokens became part "
     "of "
     "its own drafts, which speculation counts"},
    {"drafter.steps", "of requests, with tokens that the drafter had proposed"},
    {"drafter.mean_accepted_length",
     "proposed tokens accepted per step, without the token that the step itself gives; some tools count that one too "
     "and report 1 more"},
    {"drafter.gpu_s", "in which GPUs ran the drafter, added over replicas; part of the time that they were busy"},
    {"drafter.gpu_time_share", "drafter.gpu_s / the replicas' time"},
}};

const DecodePolicy& policy_of(const ServingConfig& config) {
  return *serving::find_decode_policy(config.decode.policy);
}

/// What the policy drafts on or decodes with; empty where that is the full KV.
std::string own_choice_text(const ServingConfig& config) {
  const DecodePolicy& decode = policy_of(config);
  const serving::DecodeConfig own = serving::own_drafts(config.decode);
  if (drafts_as_found(config)) {
    return drafts_until_computed(config) ? " on prompts as they are put together" : " on prompts as they are stored";
  }
  if (!decode.reads_compressed) return "";
  if (decode.keeps_full) {
    return fmt::format(" reading {:.4g} of the KV, chosen by {}", own.keep_ratio, own.compressor.name);
  }
  return fmt::format(" with {}, keep ratio {:.4g}", own.compressor.name, own.keep_ratio);
}

}  // namespace

bool has_drafter(const scenario::Scenario& scenario) {
  return policy_of(scenario.serving).drafter;
}

bool drafts_as_found(const ServingConfig& config) {
  return !config.cluster.pools && serving::drafts_as_loaded(config, policy_of(config));
}

bool drafts_until_computed(const ServingConfig& config) {
  return drafts_as_found(config) && serving::whole_kv(config) == WholeKv::recomputed;
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

void add_drafter(Section& document, const Outcome& outcome) {
  if (!has_drafter(outcome.scenario)) return;
  const DrafterMeasurement& m = outcome.result.measured.drafter;
  const serving::DrafterConfig& drafter = *outcome.scenario.serving.decode.drafter;
  const auto accepted = static_cast<double>(m.accepted_tokens);
  Section s = document.child("drafter");
  s.set("name", drafter.spec.name).count("draft_length", drafter.tokens());
  s.count("steps", m.steps).count("proposed_tokens", m.proposed_tokens).count("accepted_tokens", m.accepted_tokens);
  s.ratio("acceptance_rate", accepted, static_cast<double>(m.proposed_tokens), kNothingProposed);
  s.ratio("mean_accepted_length", accepted, static_cast<double>(m.steps), kNothingProposed);
  s.number("gpu_s", m.gpu_s, "no time was measured");
  s.ratio("gpu_time_share", m.gpu_s, outcome.result.measured.capacity_s, "no time was measured");
  document.set("drafter", std::move(s));
}

Table drafter_table(const Outcome& outcome) {
  const serving::Measurements& m = outcome.result.measured;
  const DrafterMeasurement& d = m.drafter;
  const serving::DrafterConfig& drafter = *outcome.scenario.serving.decode.drafter;
  const bool verifies = policy_of(outcome.scenario.serving).verifies;
  const auto steps = static_cast<double>(d.steps), proposed = static_cast<double>(d.proposed_tokens);
  Table t = key_figures(fmt::format("Drafter {}", drafter.spec.name));
  t.rows.push_back({"steps", whole(d.steps), "", "of requests, with proposed tokens"});
  t.rows.push_back({"proposed per step", figure(share(proposed, steps)), "",
                    fmt::format("{} where the step, the round and the request have room", drafter.tokens())});
  t.rows.push_back({"accepted per step", figure(share(static_cast<double>(d.accepted_tokens), steps)), "",
                    "proposed tokens, without the step's own"});
  t.rows.push_back({"acceptance rate", percent(share(static_cast<double>(d.accepted_tokens), proposed)), "",
                    fmt::format("{} of {} proposed tokens{}", whole(d.accepted_tokens), whole(d.proposed_tokens),
                                verifies ? ", into drafts" : "")});
  t.rows.push_back({"GPU time", percent(share(d.gpu_s, m.capacity_s)), "", "for its own passes"});
  return t;
}

std::span<const std::pair<std::string_view, std::string_view>> drafter_definitions() {
  return kDrafterDefinitions;
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
  if (serving::whole_kv(c) == WholeKv::tiers) {
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

}  // namespace kvsim::results
