// Prompts made of chunks: what answers scored, and how prompts were put together.
#include "tools/results/metrics/metric.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using serving::AnswerMeasurement;
using serving::ReuseMeasurement;

constexpr std::string_view kNoPrompt = "no prompt was put together in the measured time";

const Condition kAnswers{"where prompts belong to tasks",
                         [](const scenario::Scenario& s) { return !s.serving.tasks.empty(); }};
const Condition kReuses{"where prompts are put together from chunks", [](const scenario::Scenario& s) {
                          return !s.serving.tasks.empty() && s.serving.reuse.has_value();
                        }};
const Condition kDraftsOnChunks{
    "where drafts go on from prompts as they were put together",
    [](const scenario::Scenario& s) { return kReuses.holds(s) && drafts_as_found(s.serving); }};

template <class T>
auto answered(T AnswerMeasurement::*member) {
  return [member](const View& v) { return count(v.measured().answers.*member); };
}

template <class T>
auto a_answer(T AnswerMeasurement::*sum) {
  return [sum](const View& v) {
    const AnswerMeasurement& a = v.measured().answers;
    return ratio(static_cast<double>(a.*sum), static_cast<double>(a.answers), kNothingFinished);
  };
}

template <class T>
auto reused(T ReuseMeasurement::*member) {
  return [member](const View& v) { return count(v.measured().reuse.*member); };
}

template <class T>
auto a_prompt(T ReuseMeasurement::*sum) {
  return [sum](const View& v) {
    const ReuseMeasurement& r = v.measured().reuse;
    return ratio(static_cast<double>(r.*sum), static_cast<double>(r.prompts), kNoPrompt);
  };
}

}  // namespace

Metrics reuse_metrics() {
  using A = AnswerMeasurement;
  using R = ReuseMeasurement;
  Metrics rows = when(
      kAnswers, {{"answers.count", kCount, kNeither, "answers of finished requests", answered(&A::answers)},
                 {"answers.mean_score", kPlain, kHigher, "score of the answers' tasks, mean", a_answer(&A::score)},
                 {"answers.full_score", kPlain, kNeither, "what the same answers score with all of the prompt computed",
                  a_answer(&A::full_score)},
                 {"answers.good", kCount, kHigher,
                  "with at least slo.quality_floor of their task's mean score with all of the prompt computed",
                  answered(&A::good)},
                 {"answers.good_share", kShare, kHigher, "share of answers that are good ones", a_answer(&A::good)}});
  append(
      rows,
      when(kReuses,
           {{"reuse.policy", kText, kNeither, "name of the prefill policy",
             [](const View& v) { return Figure{prefill_word(v.config().prefill)}; }},
            {"reuse.prompts", kCount, kNeither, "put together, each counted when its first token was out",
             reused(&R::prompts)},
            {"reuse.chunk_tokens", kTokens, kNeither, "tokens of prompts' chunks", reused(&R::chunk_tokens)},
            {"reuse.loaded_tokens", kTokens, kHigher, "tokens of chunks that were stored", reused(&R::loaded_tokens)},
            {"reuse.apart_tokens", kTokens, kLower, "tokens of chunks that were not stored and were computed alone",
             reused(&R::apart_tokens)},
            {"reuse.recomputed_tokens", kTokens, kLower, "tokens of chunks that were computed over the whole prompt",
             reused(&R::recomputed_tokens)},
            {"reuse.other_tokens", kTokens, kNeither, "tokens of prompts behind the chunks", reused(&R::other_tokens)},
            {"reuse.recomputed_share", kShare, kLower, "recomputed_tokens / chunk_tokens",
             [](const View& v) {
               const R& r = v.measured().reuse;
               return ratio(static_cast<double>(r.recomputed_tokens), static_cast<double>(r.chunk_tokens), kNoPrompt);
             }},
            {"reuse.mean_s.queue", kSeconds, kLower, "arrival to admission, mean over prompts", a_prompt(&R::queue_s)},
            {"reuse.mean_s.load", kSeconds, kLower, "admission to the last stored byte, mean over prompts",
             a_prompt(&R::load_s)},
            {"reuse.mean_s.select", kSeconds, kLower,
             "admission to the choice of tokens, with its waiting, mean over prompts", a_prompt(&R::select_s)},
            {"reuse.mean_s.assemble", kSeconds, kLower,
             "admission until both are there and missing chunks are computed, mean over prompts",
             a_prompt(&R::assemble_s)},
            {"reuse.mean_s.prefill", kSeconds, kLower, "from there to the first token, mean over prompts",
             a_prompt(&R::prefill_s)},
            {"reuse.selections_longer", kShare, kLower,
             "share of the prompts whose tokens were chosen after all stored chunks had arrived",
             a_prompt(&R::selections_longer)},
            {"reuse.scorer_busy_fraction", kShare, kHigher, "share of the time of GPUs that only score",
             [](const View& v) {
               const auto scorers = static_cast<double>(v.config().cluster.uniform().scorer_gpus);
               return ratio(v.measured().reuse.scorers_busy_s, v.measured().capacity_s * scorers, "no GPU only scores");
             }}}));
  append(rows,
         when(kDraftsOnChunks,
              {{"reuse.verified_tokens", kTokens, kLower,
                "of prompts, computed whole to verify what was drafted on them as they were put together",
                reused(&R::verified_tokens)},
               {"reuse.first_drafts", kRequests, kNeither, "whose first token was a draft", reused(&R::first_drafts)},
               {"reuse.time_to_first_draft_s", kSeconds, kLower,
                "mean from a request's arrival to its first token as a draft; ttft counts verified ones",
                [](const View& v) {
                  const R& r = v.measured().reuse;
                  return ratio(r.first_draft_s, static_cast<double>(r.first_drafts),
                               "no request drafted its first token in the measured time");
                }}}));
  return rows;
}

}  // namespace kvsim::results
