#include "tools/validation/book.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/schema/yaml.h"
#include "planner/policy_words.h"
#include "tools/results/metrics.h"
#include "tools/validation/is_there.h"
#include "validation_scenarios.h"

namespace kvsim::validation {
namespace {

using Names = std::vector<std::string>;

std::string_view carried_scenario(const std::string& path) {
  Names paths;
  for (const auto& [name, text] : embedded::validation_scenarios()) {
    if (name == path) return text;
    paths.emplace_back(name);
  }
  throw ExpressionError(fmt::format("unknown scenario \"{}\"{}", path, schema::suggest(path, paths)));
}

std::string key_of(const Reference& r) {
  return fmt::format("{}({})", r.name, fmt::join(r.arguments, ", "));
}

/// The number at a path of a document; NaN where it is null there.
double number_at(const results::Json& document, const std::string& path) {
  const results::Json* at = &document;
  for (const std::string& key : split(path, '.')) {
    if (!at->is_object() || !at->contains(key)) {
      Names keys;
      if (at->is_object()) {
        for (const auto& [known, value] : at->items()) keys.push_back(known);
      }
      throw ExpressionError(fmt::format("unknown metric \"{}\": \"{}\"{}", path, key, schema::suggest(key, keys)));
    }
    at = &(*at)[key];
  }
  if (at->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!at->is_number()) throw ExpressionError(fmt::format("\"{}\" is no number", path));
  return at->get<double>();
}

/// The entry that a reference is to, and what its parameters are; those that are left out are empty.
template <class Entry>
std::optional<std::pair<std::size_t, Parameters>> entry_of(const std::vector<Entry>& entries, const Reference& r) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Reference declared = parse_reference(entries[i].name);
    if (declared.name != r.name) continue;
    if (r.arguments.size() > declared.arguments.size()) {
      throw ExpressionError(
          fmt::format("{} has {} arguments, expected those of {}", key_of(r), r.arguments.size(), entries[i].name));
    }
    Parameters parameters;
    for (std::size_t k = 0; k < declared.arguments.size(); ++k) {
      parameters[declared.arguments[k]] = k < r.arguments.size() ? r.arguments[k] : "";
    }
    return std::pair(i, std::move(parameters));
  }
  return std::nullopt;
}

/// Everything that an expression may begin with.
Names known_names(const Vocabulary& file) {
  Names names;
  for (const TermText& t : file.terms) names.push_back(parse_reference(t.name).name);
  for (const ChoiceText& c : file.choices) names.push_back(parse_reference(c.name).name);
  for (const RunText& r : file.runs) names.push_back(parse_reference(r.name).name);
  for (const auto list : {probes(), measured_probes(), recording_probes(), backtest_probes()}) {
    for (const Probe& p : list) {
      if (!p.of_run) names.emplace_back(p.name);
    }
  }
  return names;
}

const Probe* find_probe(const std::string& name, bool of_run) {
  for (const auto list : {probes(), measured_probes(), recording_probes(), backtest_probes()}) {
    for (const Probe& p : list) {
      if (p.name == name && p.of_run == of_run) return &p;
    }
  }
  return nullptr;
}

/// Says where in the file the run is that cannot be loaded, or the setting (`settings`, each written at
/// `run`.settings.PLACE) that the complaint is about.
[[noreturn]] void refuse_run(const Vocabulary& file, const std::string& run, const Names& settings,
                             const std::vector<std::size_t>& places, const schema::InputError& error) {
  constexpr std::string_view kSet = "--set ";
  const std::string_view source = error.origin().source();
  std::string at = run;
  std::string_view message = error.what();
  if (source.starts_with(kSet)) {
    message.remove_prefix(kSet.size());
    const std::string key = fmt::format("{}=", source.substr(kSet.size()));
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (settings[i].starts_with(key)) at = fmt::format("{}.settings.{}", run, places[i]);
    }
  }
  throw schema::InputError(file.origin_of(at), at, message);
}

}  // namespace

double Book::value(std::string_view expression) {
  return evaluate(expression, [this](const Reference& r) { return look_up(r); });
}

std::string Book::text(std::string_view text, const Parameters& parameters) {
  Parameters all = parameters;
  all.insert(file_.constants.begin(), file_.constants.end());
  return filled(text, all, [this](const Reference& r) { return look_up(r); });
}

const std::vector<std::string>& Book::assumptions_of(const std::string& scenario) {
  const auto [known, added] = assumptions_.try_emplace(scenario);
  if (!added) return known->second;
  // As written: a scenario that replays a recording is assumed the same where that is not at hand.
  const schema::ConfigNode document = schema::read_yaml(carried_scenario(scenario), scenario);
  const schema::ConfigNode* said = document.find("assumptions");
  if (said != nullptr) {
    for (const schema::ConfigNode& one : said->items()) known->second.push_back(one.text());
  }
  return known->second;
}

double Book::look_up(const Reference& r) {
  constexpr int kDeepest = 32;
  if (depth_ == kDeepest) throw ExpressionError(fmt::format("{} refers to itself", key_of(r)));
  ++depth_;
  const double value = answer_to(r);
  --depth_;
  return value;
}

double Book::answer_to(const Reference& r) {
  if (const auto term = entry_of(file_.terms, r)) return of_term(term->first, term->second);
  Reference run = r;
  if (const auto choice = entry_of(file_.choices, r)) {
    const std::string value = chosen(choice->first, r, choice->second);
    if (r.path == "value") return this->value(value);
    Parameters parameters = choice->second;
    const ChoiceText& text = file_.choices[choice->first];
    parameters[text.varied] = value;
    run = parse_reference(this->text(text.of, parameters));
    run.path = r.path;
    run.path_arguments = r.path_arguments;
  }
  if (const auto entry = entry_of(file_.runs, run)) {
    const SimulatedRun* const simulated_run = simulated(entry->first, entry->second);
    const bool of_probe = find_probe(run.path, true) != nullptr;
    if (simulated_run == nullptr) {
      if (!of_probe && results::find_metric(run.path) == nullptr) {
        throw ExpressionError(
            fmt::format("unknown metric \"{}\"{}", run.path, schema::suggest(run.path, results::metric_names())));
      }
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (of_probe) return ask(run, run.path, run.path_arguments, simulated_run);
    return number_at(simulated_run->document, run.path);
  }
  return ask(run, run.name, run.arguments, nullptr);
}

double Book::of_term(std::size_t index, const Parameters& parameters) {
  return located(file_, fmt::format("terms.{}", index), [&] { return value(text(file_.terms[index].is, parameters)); });
}

std::string Book::chosen(std::size_t index, const Reference& r, const Parameters& of_reference) {
  if (const auto known = choices_.find(key_of(r)); known != choices_.end()) return known->second;
  const std::size_t waiting = shared_runs_ == nullptr ? 0 : shared_runs_->asked_in_vain();
  const auto complete = [&] { return shared_runs_ == nullptr || shared_runs_->asked_in_vain() == waiting; };
  const ChoiceText& choice = file_.choices[index];
  Parameters parameters = of_reference;
  const auto number = [&](const std::string& expression) { return value(text(expression, parameters)); };
  const auto will_do = [&] { return choice.where.empty() || number(choice.where) != 0; };
  return located(file_, fmt::format("choices.{}", index), [&] {
    std::optional<std::string> chosen;
    const bool halved = !choice.between.empty();
    const auto take = [&](std::string candidate) {
      parameters[choice.varied] = std::move(candidate);
      return will_do();
    };
    if (halved) {
      double good = choice.between[0], bad = choice.between[1];
      if (take(fmt::format("{}", good))) {
        for (std::int64_t step = 0; step < choice.halvings && complete(); ++step) {
          const double middle = choice.logarithmic ? std::sqrt(good * bad) : (good + bad) / 2;
          (take(fmt::format("{}", middle)) ? good : bad) = middle;
        }
        chosen = fmt::format("{}", good);
      }
    } else {
      const double sign = choice.most.empty() ? 1 : -1;
      double best = 0;
      for (const std::string& candidate : choice.among) {
        if (!take(candidate)) continue;
        const double value = sign * number(choice.most.empty() ? choice.least : choice.most);
        if (std::isnan(value) || (chosen && value >= best)) continue;
        chosen = candidate;
        best = value;
      }
    }
    // As long as runs are missing, any value shows which others will be asked for.
    if (!complete()) return chosen.value_or(halved ? fmt::format("{}", choice.between[0]) : choice.among.front());
    if (!chosen) {
      throw ExpressionError(fmt::format(
          "{}: no {} {} will do, expected {}", key_of(r), choice.varied,
          halved ? fmt::format("from {} on", choice.between[0]) : fmt::format("of {}", fmt::join(choice.among, ", ")),
          choice.where));
    }
    choices_[key_of(r)] = *chosen;
    return *chosen;
  });
}

const SimulatedRun* Book::simulated(std::size_t index, Parameters parameters) {
  parameters["measured"] = inputs_.measured;
  const RunText& run = file_.runs[index];
  return located(file_, fmt::format("runs.{}", index), [&]() -> const SimulatedRun* {
    const std::string path = text(run.scenario.empty() ? file_.scenario : run.scenario, parameters);
    const std::string policy = text(run.policy, parameters);
    Names settings;
    std::vector<std::size_t> places;  // of settings, in the run's
    for (std::size_t i = 0; i < run.settings.size(); ++i) {
      for (std::string& one : split(text(run.settings[i], parameters), ';')) {
        if (one.empty()) continue;
        settings.push_back(std::move(one));
        places.push_back(i);
      }
    }
    settings.insert(settings.end(), inputs_.settings.begin(), inputs_.settings.end());
    Known& known = runs_[fmt::format("{} {} {} {}", path, policy, run.trace, fmt::join(settings, "; "))];
    if (known.ready) return &known.run;
    if (inputs_.watch) inputs_.watch();
    if (!known.loaded) {
      try {
        known.run.scenario = loaded(path, policy, settings);
      } catch (const schema::InputError& e) {
        refuse_run(file_, fmt::format("runs.{}", index), settings, places, e);
      }
      known.loaded = true;
    }
    if (shared_runs_ != nullptr && !run.trace) {
      const results::Json* const document = shared_runs_->document(known.run.scenario, known.fingerprint);
      if (document == nullptr) return nullptr;
      known.run.document = *document;
    } else {
      simulate(known.run, run.trace);
    }
    known.ready = true;
    return &known.run;
  });
}

scenario::Scenario Book::loaded(const std::string& path, const std::string& policy, const Names& settings) const {
  const std::string beside = (std::filesystem::path(inputs_.folder) / path).string();
  const bool own = !inputs_.folder.empty() && is_there(beside);
  const auto file = own ? scenario::ScenarioFile(beside, settings)
                        : scenario::ScenarioFile::from_text(carried_scenario(path), path, settings);
  return policy.empty() ? file.load() : planner::with_policy(file, policy);
}

double Book::ask(const Reference& r, const std::string& name, const Names& arguments, const SimulatedRun* run) {
  const Probe* const probe = find_probe(name, run != nullptr);
  if (probe == nullptr) {
    const Names names = known_names(file_);
    throw ExpressionError(fmt::format("unknown run, term or probe \"{}\"{}", r.name, schema::suggest(r.name, names)));
  }
  if (arguments.size() == probe->arguments) return probe->answer({arguments, run, measured_});
  throw ExpressionError(fmt::format("{}() has {} arguments, expected {}", name, arguments.size(), probe->arguments));
}

}  // namespace kvsim::validation
