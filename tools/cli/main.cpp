// kvsim's entry point: its commands, what a command line means, and what it ends with (signals.h says what the exit
// status means).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <span>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "planner/infeasible.h"
#include "sim/engine/invariant.h"
#include "sim/serving/simulation.h"
#include "tools/cli/command.h"
#include "tools/cli/completion.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/usage_hints.h"
#include "tools/results/result_document.h"

// One line per command, in the order of `kvsim --help`.
#define KVSIM_COMMANDS(X) \
  X(run)                  \
  X(compare)              \
  X(sweep)                \
  X(plan)                 \
  X(capacity)             \
  X(report)               \
  X(check)                \
  X(list)                 \
  X(show)                 \
  X(schema)               \
  X(model)                \
  X(workload)             \
  X(validate)             \
  X(reproduce)            \
  X(backtest)             \
  X(calibrate)            \
  X(completion)           \
  X(man)

namespace kvsim::cli {

#define X(name) extern const Command name##_command;
KVSIM_COMMANDS(X)
#undef X

namespace {

#define X(name) &name##_command,
constexpr std::array kCommands{KVSIM_COMMANDS(X)};
#undef X

/// Files and folders have names: commands would take an empty one for an option that is not given.
void refuse_empty_names(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    refuse_empty_names(*command);
    for (CLI::Option* option : command->get_options()) {
      const bool folder = type_of(*option) == "DIR";
      if (!folder && !type_of(*option).starts_with("FILE")) continue;
      option->check([folder](const std::string& name) {
        return name.empty() ? fmt::format("expected the name of a {}, found \"\"", folder ? "folder" : "file") : "";
      });
    }
  }
}

/// Message of CLI11, in other words where it is not clear enough.
std::string reworded(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> commands = command_names(app);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !commands.empty()) {
    return "a command is missing" + schema::suggest("", commands);
  }
  const std::string message = error.what();
  constexpr std::string_view lacks = ": 1 required ";  // "--seed: 1 required N missing"
  const std::size_t at = message.find(lacks);
  return at == std::string::npos ? message : message.substr(0, at) + ": a value is missing";
}

/// Message about a wrong command line and what was probably meant, from what CLI11 found and what it left over.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
    path += " " + at->get_name();
  }
  const std::vector<std::string> left = at->remaining();
  const std::string message = left.empty() ? reworded(*at, error) : about_leftover(*at, left.front());
  return fmt::format("{} ({} --help says more)", message, path);
}

void execute(int argc, char** argv, Console& console) {
  CLI::App app("kvsim simulates LLM serving where the KV cache is the bottleneck.", "kvsim");
  app.set_version_flag("--version", fmt::format("kvsim {}", results::kvsim_version()));
  app.require_subcommand(1);
  constexpr std::size_t column = 30;
  app.get_formatter()->column_width(column);
  app.footer("Examples:\n  kvsim compare scenarios/long_context/headline.yaml\n  kvsim run --help");
  std::function<void(Console&)> chosen;
  for (const Command* command : kCommands) {
    CLI::App* sub = app.add_subcommand(command->name, command->description);
    sub->footer(fmt::format("Example:\n  {}", command->example));
    sub->parse_complete_callback([&chosen, run = command->declare(*sub)] { chosen = run; });
  }
  refuse_empty_names(app);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "__complete") {  // of completion.h's scripts; any words may follow
    const Shell& shell = find_shell(words.size() < 2 ? "" : words[1]);
    return console.print(completions(app, shell, std::span(words).subspan(2)));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    console.print(app.help());
    return;
  } catch (const CLI::CallForVersion& version) {
    console.print(fmt::format("{}\n", version.what()));
    return;
  } catch (const CLI::ParseError& error) {
    throw schema::InputError(usage_message(app, error));
  }
  static_cast<void>(seconds_between_lines());  // what is wrong with it is said before anything is read
  chosen(console);
}

/// One message on stderr for everything that can go wrong.
int status_of_current_exception() {
  try {
    throw;
  } catch (const ClosedPipe&) {
    return kDone;
  } catch (const Interrupted& e) {
    Console::complain(fmt::format("interrupted, {}", e.what()));
    return interrupted_status();
  } catch (const schema::InputError& e) {
    constexpr std::size_t most = 9;
    const std::vector<std::string>& further = e.further();
    Console::complain(e.what());
    for (std::size_t i = 0; i < std::min(most, further.size()); ++i) Console::complain(further[i]);
    if (further.size() > most) Console::complain(fmt::format("{} more mistakes", further.size() - most));
    return kBadInput;
  } catch (const serving::ConfigurationError& e) {
    Console::complain(fmt::format("{}: {}", e.key(), e.what()));
    return kBadInput;
  } catch (const planner::Infeasible& e) {
    Console::complain(e.what());
    return kInfeasible;
  } catch (const engine::InvariantViolation& e) {
    Console::complain(
        fmt::format("internal error, no results written: {}. This is a defect of kvsim: please report it "
                    "with the scenario and the seed",
                    e.what()));
  } catch (const std::bad_alloc&) {
    Console::complain("out of memory");
  } catch (const std::exception& e) {
    Console::complain(e.what());
  }
  return kFailed;
}

/// Takes the stack that commands need while there is memory for it: where a limit on memory leaves none, a stack that
/// grows ends the program by a signal.
[[gnu::noinline]] void take_stack() {
  constexpr std::size_t kBytes = std::size_t{1} << 19U, kPage = 4096;
  [[maybe_unused]] volatile char room[kBytes];
  for (std::size_t i = 0; i < kBytes; i += kPage) room[i] = 0;
}

/// Memory may also end where nothing may be thrown: a JSON document that is taken down asks for some.
[[noreturn]] void end_without_memory() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    static_cast<void>(write_all(STDERR_FILENO, "kvsim: out of memory\n"));
    ::_exit(kFailed);
  } catch (...) {  // what else is thrown there is a defect
  }
  std::abort();
}

/// Memory that is freed stays with the process. The LP solver takes and frees a few hundred kB for each programme; to
/// hand them back to the system and to ask anew took five sixths of a run between pools.
void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

}  // namespace
}  // namespace kvsim::cli

int main(int argc, char** argv) {
  using namespace kvsim::cli;
  keep_freed_memory();
  take_stack();
  std::set_terminate(end_without_memory);
  secure_standard_streams();
  handle_signals();
  try {
    Console console;
    execute(argc, argv, console);
    return 0;
  } catch (...) {
    return status_of_current_exception();
  }
}
