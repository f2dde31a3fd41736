#include "tests/scenario/key_rows.h"

#include "models/compression/functional.h"

namespace kvsim::testing {
namespace {

/// Llama 3.2 1B proposes tokens, every step verifies them.
Sets drafted(Sets more = {}) {
  more.insert(more.begin(), {"decode={policy: drafter, drafter: {type: llama-3.2-1b}}", "schedule.policy=fcfs"});
  return more;
}

/// Drafts read a twentieth of the KV, which stays on the GPU.
Sets sparse(Sets more = {}) {
  more.insert(more.begin(),
              {"decode={policy: sparse_self, draft_length: 10, sparse: {selection: pillar-attention, keep_ratio: "
               "0.05}}"});
  return more;
}

/// The keys of a law of accepted lengths.
void add_acceptance(std::vector<KeyRow>& rows, const std::string& key, const Sets& base) {
  const auto with = [&](const std::string& law) {
    Sets sets = base;
    sets.push_back(key + "={" + law + "}");
    return sets;
  };
  const auto points = [&](const char* draft_length, const char* accepted) {
    return key + "={model: curve, points: [{draft_length: " + draft_length + ", accepted: " + accepted + "}]}";
  };
  const Sets constant = with("model: constant, agreement: 0.7");
  rows.insert(rows.end(),
              {
                  {key + ".model", constant, "constant", "heterogeneous"},
                  {key + ".agreement", constant, "0.7", "0.6"},
                  {key + ".concentration", with("model: heterogeneous, agreement: 0.7, concentration: 10"), "10", "2"},
                  {key + ".step_kl", with("model: step_kl, step_kl: 0.1"), "0.1", "0.5"},
                  {key + ".points[].draft_length", base, points("2", "1"), points("3", "1")},
                  {key + ".points[].accepted", base, points("2", "1"), points("2", "1.5")},
                  {key + ".positions[]", base, key + "={model: positions, positions: [0.9, 0.7]}",
                   key + "={model: positions, positions: [0.9, 0.8]}"},
                  {key + ".lengths[]", base, key + "={model: recorded, lengths: [1, 3]}",
                   key + "={model: recorded, lengths: [1, 2]}"},
              });
}

void add_network(std::vector<KeyRow>& rows) {
  const std::string key = "decode.drafter.type.network";
  add_small_network(rows, key, drafted, "6 GB");
  // A small model shares its vocabulary with the large one; a head may have one of its own.
  rows.push_back({key + ".vocabulary", drafted({"decode.drafter.type=eagle3-llama-3.1-8b"}), "32000", "64000"});
}

void add_drafter(std::vector<KeyRow>& rows) {
  const std::string key = "decode.drafter", type = key + ".type";
  const Sets head = drafted({type + "=eagle3-llama-3.1-8b"});
  const Sets known =
      drafted({type + ".acceptance={law: {model: constant, agreement: 0.7}, source: derived, reference: one}"});
  rows.insert(rows.end(),
              {
                  {key + ".draft_length", drafted(), "4", "2"},
                  {key + ".tree.top_k", drafted({key + ".tree.tokens=8"}), "1", "8"},
                  {key + ".tree.tokens", drafted({key + ".tree.top_k=2"}), "8", "64"},
                  {type + ".block", drafted(), "false", "true"},
                  {type + ".name", drafted(), "one", "two", Effect::reported},
                  {type + ".description", drafted(), "one", "two", Effect::shown},
                  {type + ".kind", head, "head", "model", Effect::refused},
                  {type + ".shares_head", head, "false", "true"},
                  {type + ".acceptance.source", known, "derived", "measurement", Effect::reported},
                  {type + ".acceptance.reference", known, "one", "two", Effect::reported},
                  {type + ".targets[]", head, type + "={base: eagle3-llama-3.1-8b, targets: [llama-3.1-8b]}",
                   type + "={base: eagle3-llama-3.1-8b, targets: [other]}", Effect::refused},
                  {type + ".draft_length", drafted(), "4", "2"},
                  {type + ".pass_overhead", drafted(), "50 us", "5 ms"},
              });
  add_network(rows);
  add_acceptance(rows, type + ".acceptance.law", known);
  add_acceptance(rows, key + ".acceptance", drafted());
}

/// A curve over the keep ratio; what its points change, and what its source.
void add_curve(std::vector<KeyRow>& rows, const std::string& curve, Effect of_points, Effect of_source) {
  const std::string selection = "decode.sparse.selection", key = selection + "." + curve;
  const auto with = [&](const char* keep_ratio, const char* value, const char* source = "") {
    return key + "={points: [{keep_ratio: " + keep_ratio + ", value: " + value + "}]" + source + "}";
  };
  rows.insert(rows.end(),
              {
                  {key + ".points[].keep_ratio", sparse(), with("0.05", "0.9"), with("0.1", "0.9"), of_points},
                  {key + ".points[].value", sparse(), with("0.05", "0.9"), with("0.05", "0.8"), of_points},
                  {key + ".source", sparse(), with("0.05", "0.9", ", source: assumption"),
                   with("0.05", "0.9", ", source: scenario"), of_source},
                  {key + ".reference", sparse(), with("0.05", "0.9", ", source: derived, reference: one"),
                   with("0.05", "0.9", ", source: derived, reference: two"), of_source},
              });
}

void add_sparse(std::vector<KeyRow>& rows) {
  const std::string key = "decode.sparse", selection = key + ".selection";
  const auto kept = [&](const std::string& change) {
    return selection + "={base: pillar-attention, reads_only: false, " + change + "}";
  };
  rows.insert(rows.end(),
              {
                  {key + ".keep_ratio", sparse(), "0.05", "0.1"},
                  {key + ".draft_length", sparse(), "10", "5"},
                  {selection + ".name", sparse(), "one", "two", Effect::reported},
                  {selection + ".description", sparse(), "one", "two", Effect::shown},
                  {selection + ".kind", sparse(), kept("kind: token_dropping"),
                   kept("kind: both, bits_per_element: 8, reload: whole"), Effect::refused},
                  {selection + ".mode", sparse(), "online", "offline", Effect::refused},
                  {selection + ".scope", sparse(), "all", "prompt"},
                  {selection + ".reload", sparse(), "missing", "whole", Effect::none_yet},
                  {selection + ".long_context", sparse(), "true", "false", Effect::refused},
                  {selection + ".remote_prefix", sparse(), "false", "true", Effect::refused},
                  {selection + ".reads_only", sparse({kept("remote_prefix: true")}), "false", "true", Effect::refused},
                  {selection + ".bits_per_element", sparse(), "16", "8", Effect::refused},
                  {selection + ".group_size", sparse(), "0", "64", Effect::none_yet},
                  {selection + ".residual_tokens", sparse(), "0", "1024"},
                  {selection + ".sink_tokens", sparse(), "0", "1024"},
                  {selection + ".whole_layers", sparse(), "0", "4"},
                  {selection + ".compress_rate", sparse(), "500 GB/s", "50 GB/s", Effect::none_yet},
                  {selection + ".decompress_rate", sparse(), "500 GB/s", "50 GB/s", Effect::none_yet},
                  {selection + ".attention_time_factor", sparse(), "1", "2"},
              });
  add_curve(rows, "step_kl", Effect::none_yet, Effect::listed);  // beside an agreement
  add_curve(rows, "agreement", Effect::measured, Effect::reported);
  add_curve(rows, "quality", Effect::none_yet, Effect::none_yet);
  for (const models::FunctionalTask& task : models::kFunctionalTasks) {
    add_curve(rows, std::string("functional.") + task.key, Effect::none_yet, Effect::none_yet);
  }
  add_acceptance(rows, key + ".acceptance", sparse());
}

}  // namespace

std::vector<KeyRow> drafting_rows() {
  std::vector<KeyRow> rows;
  add_drafter(rows);
  add_sparse(rows);
  return rows;
}

}  // namespace kvsim::testing
