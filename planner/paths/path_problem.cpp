#include "planner/paths/path_problem.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/schemas.h"

namespace kvsim::planner {
namespace {

using namespace schema;

constexpr double kLongestDraft = 4096;
constexpr double kLongestOutput = 1e9;
constexpr double kMostGpus = 1e6;
constexpr double kLeastAccepted = 1e-6;  // of drafted tokens; below it verifications per request pass a billion

ObjectSchema<PathSymbols> path_symbols_schema() {
  using S = PathSymbols;
  ObjectSchema<S> s("symbols", "The machine and the model, as the equations see them.");
  s.required("M", &S::M, bytes().positive(), "weights");
  s.required("KV", &S::KV, bytes().positive(), "full KV of one request");
  s.required("HBM", &S::HBM, bytes().positive(), "memory of one GPU (or node)");
  s.required("BW_hbm", &S::BW_hbm, bandwidth().positive(), "memory bandwidth of one GPU (or node)");
  s.required("BW_h", &S::BW_h, bandwidth().positive(), "link from the storage node to a local GPU (or node)");
  s.required("BW_l", &S::BW_l, bandwidth().positive(), "link from the storage node to a remote GPU (or node)");
  return s;
}

ObjectSchema<PoolSizes> pools_schema() {
  ObjectSchema<PoolSizes> s("pools", "GPUs (or nodes) of each pool; one of them may be 0.");
  s.required("local", &PoolSizes::local, integer().non_negative().at_most(kMostGpus), "G_L: on the fast link");
  s.required("remote", &PoolSizes::remote, integer().non_negative().at_most(kMostGpus), "G_R: on the slow link");
  return s;
}

ObjectSchema<PathRequest> request_schema() {
  ObjectSchema<PathRequest> s("request", "What every request is like.");
  s.required("K", &PathRequest::K, tokens().at_least(1).at_most(kLongestOutput), "output tokens");
  s.required("c", &PathRequest::c, number().above(0).at_most(1), "compressed KV over full KV");
  s.required("x", &PathRequest::x, integer().at_least(1).at_most(kLongestDraft), "tokens drafted per round");
  return s;
}

void check(const PathProblem& problem, const Reporter& report) {
  if (problem.acceptance.kind == models::AcceptanceKind::compressor) {
    report.fail("acceptance.model",
                "model: compressor takes the agreement from a compressor, and plain symbols name none; expected "
                "another model, such as {model: constant, agreement: 0.98}");
  }
  if (const double g = accepted_share(problem); g < kLeastAccepted) {
    report.fail("acceptance",
                fmt::format("of {} drafted tokens {:.3g} are accepted, which is next to none; expected a share of at "
                            "least {}",
                            problem.request.x, g * static_cast<double>(problem.request.x), kLeastAccepted));
  }
  for (std::size_t i = 0; i < problem.paths.size(); ++i) {
    if (std::find(problem.paths.begin(), problem.paths.begin() + static_cast<std::ptrdiff_t>(i), problem.paths[i]) !=
        problem.paths.begin() + static_cast<std::ptrdiff_t>(i)) {
      report.fail(fmt::format("paths.{}", i), fmt::format("{} is there twice", path_name(problem.paths[i])));
    }
  }
}

ObjectSchema<PathProblem> make_schema() {
  using P = PathProblem;
  ObjectSchema<P> s("paths", "Requests between two pools around a storage node (remote prefix caching).");
  s.object("symbols", &P::symbols, path_symbols_schema(), Presence::required, "machine and model");
  s.object("pools", &P::pools, pools_schema(), Presence::required, "sizes of the pools");
  s.object("request", &P::request, request_schema(), Presence::required, "what every request is like");
  s.object("acceptance", &P::acceptance, models::acceptance_schema(), Presence::required,
           "how many drafted tokens a verification accepts");
  s.list("paths", &P::paths, ScalarSpec::choice(models::path_words()), Presence::optional,
         "the paths that requests may take; left out: all six", {.at_least = 1});
  s.optional("residence", &P::residence,
             choice<Residence>({{"published", Residence::published, "T_tok, as printed"},
                                {"steps", Residence::steps, "B T_tok, the whole step"}}),
             "how long decoding one token holds a request's slot");
  s.check(check);
  return s;
}

}  // namespace

std::string_view residence_name(Residence residence) {
  return residence == Residence::published ? "published" : "steps";
}

bool PathProblem::allows(Path path) const {
  return paths.empty() || std::find(paths.begin(), paths.end(), path) != paths.end();
}

double slots_per_gpu(const PathSymbols& s) {
  return std::max(0.0, std::floor((s.HBM - s.M) / s.KV));
}

PerPool slots_per_gpu(const PathProblem& problem) {
  if (problem.steps) return problem.steps->slots;
  const double slots = slots_per_gpu(problem.symbols);
  return {slots, slots};
}

double accepted_share(const PathProblem& problem) {
  const std::int64_t x = problem.request.x;
  const models::AcceptanceModel model(problem.acceptance, 1, x);
  return model.expected_accepted(x) / static_cast<double>(x);
}

const ObjectSchema<PathProblem>& path_problem_schema() {
  static const ObjectSchema<PathProblem> schema = make_schema();
  return schema;
}

}  // namespace kvsim::planner
