// kvsim's entry point. exit_status.h says what its exit status means.
#include <exception>
#include <functional>
#include <new>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/infeasible.h"
#include "sim/engine/invariant.h"
#include "sim/serving/simulation.h"
#include "tools/cli/command.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/signals.h"
#include "tools/cli/usage.h"
#include "tools/results/result_document.h"

namespace kvsim::cli {
namespace {

void execute(int argc, char** argv, Console& console) {
  CLI::App app("kvsim simulates LLM serving where the KV cache is the bottleneck.", "kvsim");
  app.set_version_flag("--version", fmt::format("kvsim {}", results::kvsim_version()));
  app.require_subcommand(1);
  constexpr std::size_t column = 30;
  app.get_formatter()->column_width(column);
  app.footer("Examples:\n  kvsim compare scenarios/long_context/headline.yaml\n  kvsim run --help");
  std::function<void(Console&)> chosen;
  for (const Command* command : commands()) {
    CLI::App* sub = app.add_subcommand(command->name, command->description);
    sub->footer(fmt::format("Example:\n  {}", command->example));
    sub->parse_complete_callback([&chosen, run = command->declare(*sub)] { chosen = run; });
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
    return kInterrupted;
  } catch (const schema::InputError& e) {
    Console::complain(e.what());
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

}  // namespace
}  // namespace kvsim::cli

int main(int argc, char** argv) {
  using namespace kvsim::cli;
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
