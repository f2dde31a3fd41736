#include "models/reuse/rag_task_schema.h"

#include <fmt/format.h>

namespace kvsim::models {
namespace {

using namespace schema;

ObjectSchema<RagTask> make_schema() {
  using T = RagTask;
  const ScalarSpec score = number().above(0).at_most(1).because("answers score from 0 to 1");
  ObjectSchema<ScoreAt> point("score", "The mean score at one share of tokens computed again.");
  point.required("rho", &ScoreAt::rho,
                 number().above(0).below(1).because("nothing is computed again at 0, and everything at 1"),
                 "share of the prompt's tokens computed again");
  point.required("score", &ScoreAt::score, score, "mean score of selective reuse with spans");

  ObjectSchema<T> s("rag_task", "A task over retrieved chunks: what answers score, the more so the more is computed.");
  s.optional("name", &T::name, text(), "name in the catalogue");
  s.required("description", &T::description, text().non_empty(), "one line for lists");
  s.optional("model", &T::model, text(), "catalogue name of the model whose answers were scored");
  s.optional("speculative_model", &T::speculative_model, text(), "catalogue name of the model that chose the tokens");
  s.required("full_score", &T::full_score, score, "mean score with all of the prompt computed");
  s.list("scores", &T::scores, point, Presence::required, "of selective reuse, ascending in rho", {.at_least = 1});
  s.required("without_spans", &T::without_spans, number().above(0).at_most(1),
             "score of selective reuse without spans / with, at the first of `scores`");
  s.required("full_reuse", &T::full_reuse, number().above(0).at_most(1),
             "mean score with no token computed again / full_score; no method scores less");
  s.required("cacheblend_below", &T::cacheblend_below, number().at_least(0).below(1),
             "share by which CacheBlend scores below selective reuse, at the first of `scores`");
  s.required("epic_below", &T::epic_below, number().at_least(0).below(1),
             "share by which EPIC with 32 tokens of each chunk of 512 scores below selective reuse at the first of "
             "`scores`");
  s.required("spread", &T::spread, number().at_least(0).at_most(10),
             "standard deviation / mean of single answers' scores; 0: all alike");
  s.check([](const T& task, const Reporter& report) {
    for (std::size_t i = 1; i < task.scores.size(); ++i) {
      if (task.scores[i].rho > task.scores[i - 1].rho) continue;
      report.fail(fmt::format("scores.{}.rho", i), fmt::format("{} after {}: the scores must ascend in rho",
                                                               task.scores[i].rho, task.scores[i - 1].rho));
    }
  });
  return s;
}

}  // namespace

const ObjectSchema<RagTask>& rag_task_schema() {
  static const ObjectSchema<RagTask> schema = make_schema();
  return schema;
}

}  // namespace kvsim::models
