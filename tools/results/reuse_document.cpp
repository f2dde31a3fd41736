// The keys of prompts made of chunks in a result document, and what they mean.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/drafting_results.h"
#include "tools/results/machines.h"
#include "tools/results/reuse_results.h"

namespace kvsim::results {
namespace {

using serving::AnswerMeasurement;
using serving::PrefillKind;
using serving::ReuseMeasurement;

constexpr std::string_view kNoPrompt = "no prompt was put together in the measured time";

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kReuseDefinitions{{
    {"answers",
     "of finished requests; mean_score: of their tasks; full_score: what the same answers score with all of "
     "the prompt computed; good: answers with at least slo.quality_floor of their task's mean score with all of it "
     "computed"},
    {"reuse.chunk_tokens",
     "of prompts' chunks, each prompt counted when its first token was out; loaded_tokens: of chunks that were stored, "
     "apart_tokens: of those that were not and were computed alone, recomputed_tokens: computed over the whole prompt, "
     "other_tokens: behind the chunks"},
    {"reuse.recomputed_share", "recomputed_tokens / chunk_tokens"},
    {"reuse.mean_s",
     "means over prompts: queue: arrival to admission; load: admission to the last stored byte; select: admission to "
     "the choice of tokens, with its waiting; assemble: until both are there and missing chunks are computed; prefill: "
     "from there to the first token"},
    {"reuse.selections_longer", "share of the prompts whose tokens were chosen after all stored chunks had arrived"},
    {"reuse.scorer_busy_fraction", "of GPUs that only score"},
    {"reuse.verified_tokens",
     "of prompts, computed whole to verify what was drafted on them as they were put together"},
    {"reuse.time_to_first_draft_s",
     "mean from a request's arrival to its first token as a draft; ttft counts tokens that are final: verified ones"},
}};

Section answers_section(Section s, const AnswerMeasurement& a) {
  const auto answers = static_cast<double>(a.answers);
  s.count("count", a.answers).ratio("mean_score", a.score, answers, kNothingFinished);
  s.ratio("full_score", a.full_score, answers, kNothingFinished);
  return s.count("good", a.good).ratio("good_share", static_cast<double>(a.good), answers, kNothingFinished);
}

Section mean_section(Section s, const ReuseMeasurement& m) {
  const auto prompts = static_cast<double>(m.prompts);
  s.ratio("queue", m.queue_s, prompts, kNoPrompt).ratio("load", m.load_s, prompts, kNoPrompt);
  s.ratio("select", m.select_s, prompts, kNoPrompt).ratio("assemble", m.assemble_s, prompts, kNoPrompt);
  return s.ratio("prefill", m.prefill_s, prompts, kNoPrompt);
}

Section reuse_section(Section s, const Outcome& outcome) {
  const ReuseMeasurement& m = outcome.result.measured.reuse;
  const serving::ServingConfig& c = outcome.scenario.serving;
  s.set("policy", prefill_word(c.prefill)).count("prompts", m.prompts);
  s.count("chunk_tokens", m.chunk_tokens).count("loaded_tokens", m.loaded_tokens);
  s.count("apart_tokens", m.apart_tokens).count("recomputed_tokens", m.recomputed_tokens);
  s.count("other_tokens", m.other_tokens);
  s.ratio("recomputed_share", static_cast<double>(m.recomputed_tokens), static_cast<double>(m.chunk_tokens), kNoPrompt);
  s.set("mean_s", mean_section(s.child("mean_s"), m));
  s.ratio("selections_longer", static_cast<double>(m.selections_longer), static_cast<double>(m.prompts), kNoPrompt);
  const double scorers_s = outcome.result.measured.capacity_s * static_cast<double>(c.cluster.scorer_gpus);
  s.ratio("scorer_busy_fraction", m.scorers_busy_s, scorers_s, "no GPU only scores");
  if (!drafts_as_found(c)) return s;
  s.count("verified_tokens", m.verified_tokens).count("first_drafts", m.first_drafts);
  return s.ratio("time_to_first_draft_s", m.first_draft_s, static_cast<double>(m.first_drafts),
                 "no request drafted its first token in the measured time");
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

void add_reuse(Section& document, const Outcome& outcome) {
  if (outcome.scenario.serving.tasks.empty()) return;
  document.set("answers", answers_section(document.child("answers"), outcome.result.measured.answers));
  if (!outcome.scenario.serving.reuse) return;
  document.set("reuse", reuse_section(document.child("reuse"), outcome));
}

std::span<const std::pair<std::string_view, std::string_view>> reuse_definitions() {
  return kReuseDefinitions;
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
    said.push_back(fmt::format("Scores of {} are generated from those of selective reuse, which are published.",
                               prefill_word(c.prefill)));
  } else {
    said.emplace_back(
        "Scores at a rho between those published are interpolated; at 0 they are those of full reuse, which are "
        "assumed.");
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

}  // namespace kvsim::results
