// The field table of one struct: name, unit, range, default and sentence of every key, declared once. The same table
// parses a ConfigNode strictly, writes the struct back with its defaults, and describes itself to JSON Schema and to
// the reference pages. A table reads like the documentation it becomes:
//
//   ObjectSchema<GpuSpec> s("gpu", "One GPU as its datasheet has it.");
//   s.required("memory", &GpuSpec::memory_bytes, bytes().positive(), "HBM capacity of one GPU");
//   s.optional("price", &GpuSpec::price, price().non_negative(), "rent of one GPU");  // default: GpuSpec{}.price
//
// A field is reached by a member pointer or, deeper in, by a generic lambda: [](auto& x) -> auto& { return x.a.b; }.
// Scalar members may be bool, integers, floating point, std::string, enumerations, Sourced<> or std::optional<> of
// these. A plain member whose default the field would refuse (0 where > 0 is asked) means "not given" by it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/schema/field_table.h"
#include "models/schema/json_schema.h"

namespace kvsim::schema {

template <class T>
class ObjectSchema {
 public:
  using Check = std::function<void(const T&, const Reporter&)>;

  /// `defaults` holds what fields that are left out get.
  ObjectSchema(std::string name, std::string description, T defaults = T{})
      : table_(std::move(name), std::move(description), std::make_shared<const T>(std::move(defaults)),
               [](void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); }) {}

  /// A scalar that must be given.
  template <class Access>
  ObjectSchema& required(const char* name, Access access, const ScalarSpec& spec, const char* description) {
    table_.scalar(name, detail::Locate::in<T>(access), detail::kScalarMember<Member<Access>>, spec, Presence::required,
                  description);
    return *this;
  }

  /// A scalar that may be left out; its default is what the member holds in the schema's defaults.
  template <class Access>
  ObjectSchema& optional(const char* name, Access access, const ScalarSpec& spec, const char* description) {
    table_.scalar(name, detail::Locate::in<T>(access), detail::kScalarMember<Member<Access>>, spec, Presence::optional,
                  description);
    return *this;
  }

  /// A nested map; the member is a U or an std::optional<U>. A map that is given is read over the nested schema's
  /// defaults, one that is left out leaves the member at its default.
  template <class Access, class U>
  ObjectSchema& object(const char* name, Access access, const ObjectSchema<U>& schema, Presence presence,
                       const char* description) {
    return nested(name, access, schema, Form::object, "", presence, description);
  }
  /// A nested map whose keys set members of T itself.
  ObjectSchema& object(const char* name, const ObjectSchema& schema, Presence presence, const char* description) {
    return object(
        name, [](auto& x) -> auto& { return x; }, schema, presence, description);
  }

  /// A catalogue entry: its name, {base: name, changes...} or the whole entry inline. `catalogue` is the kind of entry.
  template <class Access, class U>
  ObjectSchema& reference(const char* name, Access access, const char* catalogue, const ObjectSchema<U>& schema,
                          Presence presence, const char* description) {
    return nested(name, access, schema, Form::reference, catalogue, presence, description);
  }

  /// A list of scalars; the member is a std::vector.
  template <class Access>
  ObjectSchema& list(const char* name, Access access, const ScalarSpec& spec, Presence presence,
                     const char* description, ListSize size = {}) {
    using Items = Member<Access>;
    table_.scalars(name, detail::Locate::in<T>(access), detail::kListMember<Items>,
                   detail::kScalarMember<typename Items::value_type>, spec, presence, description, size);
    return *this;
  }

  /// A list of maps; the member is a std::vector.
  template <class Access, class U>
  ObjectSchema& list(const char* name, Access access, const ObjectSchema<U>& schema, Presence presence,
                     const char* description, ListSize size = {}) {
    return nested_list(name, access, schema, Form::object, "", presence, description, size);
  }

  /// A list of catalogue entries, each as in `reference`; the member is a std::vector.
  template <class Access, class U>
  ObjectSchema& reference_list(const char* name, Access access, const char* catalogue, const ObjectSchema<U>& schema,
                               Presence presence, const char* description, ListSize size = {}) {
    return nested_list(name, access, schema, Form::reference, catalogue, presence, description, size);
  }

  /// The keys as those of a registry's entry; `lacking` says of an entry without them why it does not read them.
  [[nodiscard]] KeyFragment fragment(std::string lacking) const {
    return {std::make_shared<const detail::FieldTable>(table_), &detail::kOwnMember<T>, std::move(lacking)};
  }

  /// Takes in the keys that entries of a registry have of their own. `own` returns the OwnKeys of a T, `chosen` the
  /// name of its entry; `kind` is what an entry is called where a key is written that the chosen one does not read.
  template <class Entry, class Access, class Chosen>
  ObjectSchema& own_keys(std::span<const Entry> registry, Access own, Chosen chosen, const std::string& kind) {
    for (const auto& [keys, names] : detail::fragments_of(registry)) {
      table_.embed(detail::Locate::in<T>(own), keys);
      const auto why = [chosen, kind, names = names, lacking = keys.lacking](const void* value) {
        return detail::unread_by(kind, std::invoke(chosen, *static_cast<const T*>(value)), names, lacking);
      };
      table_.unread(keys.names(), why, IfWritten::remarked);
    }
    return *this;
  }

  /// Exactly one of these keys must be given.
  ObjectSchema& exclusive(std::initializer_list<const char*> keys) { return group(keys, true); }
  /// At most one of these keys may be given.
  ObjectSchema& at_most_one(std::initializer_list<const char*> keys) { return group(keys, false); }
  /// A scalar or list in place of the map means this key (`context: 8k tokens` for `context: {mean: 8k tokens}`).
  ObjectSchema& shorthand(const char* key) {
    table_.info.shorthand = key;
    return *this;
  }
  /// The answer to an unknown key, in place of the nearest key: "expected ...".
  ObjectSchema& unknown_keys(std::string expected) {
    table_.info.expected_keys = std::move(expected);
    return *this;
  }
  /// A check over several fields, run in order once all fields are read.
  ObjectSchema& check(Check check) {
    table_.checks.emplace_back([run = std::move(check)](const void* value, const Reporter& report) {
      run(*static_cast<const T*>(value), report);
    });
    return *this;
  }
  /// These keys, dotted below the object ("prefetch.top_k"), have no effect where `why` returns text: why nothing reads
  /// them, and which key has the effect. Everything below such a key is meant, too.
  ObjectSchema& unread(std::vector<std::string> keys, std::function<std::string(const T&)> why,
                       IfWritten then = IfWritten::remarked) {
    table_.unread(
        std::move(keys), [why = std::move(why)](const void* value) { return why(*static_cast<const T*>(value)); },
        then);
    return *this;
  }

  /// The keys that nothing reads in a simulation of this value, written or not; those of nested objects, too.
  [[nodiscard]] std::vector<UnreadKey> unread_keys(const T& value) const {
    std::vector<UnreadKey> found;
    table_.find_unread(&value, "", found);
    return found;
  }

  [[nodiscard]] T parse(const ConfigNode& node, const ParseContext& context = {}) const {
    T value = *static_cast<const T*>(table_.defaults.get());
    table_.parse_into(&value, node, context);
    return value;
  }

  /// The object with every default written out: parse(dump(x)) is x. Origins are empty.
  [[nodiscard]] ConfigNode dump(const T& value) const { return table_.dump(&value); }

  /// Markdown: one table per object, nested ones following.
  [[nodiscard]] std::string markdown() const { return make_markdown(table_.info); }

  /// The table without T: make_json_schema(schema.info()) is its JSON Schema.
  [[nodiscard]] const ObjectInfo& info() const { return table_.info; }

 private:
  template <class U>
  friend class ObjectSchema;
  template <class Access>
  using Member = std::remove_cvref_t<std::invoke_result_t<Access, T&>>;

  ObjectSchema& group(std::initializer_list<const char*> keys, bool one_is_required) {
    table_.info.groups.push_back({{keys.begin(), keys.end()}, one_is_required});
    return *this;
  }
  template <class Access, class U>
  ObjectSchema& nested(const char* name, Access access, const ObjectSchema<U>& schema, Form form, const char* catalogue,
                       Presence presence, const char* description) {
    static_assert(std::is_same_v<detail::unwrapped_t<Member<Access>>, U>,
                  "the member is not what the schema describes");
    table_.object(name, detail::Locate::in<T>(access), detail::kObjectMember<Member<Access>>, schema.table_,
                  std::is_same_v<T, U>, form, catalogue, presence, description);
    return *this;
  }
  template <class Access, class U>
  ObjectSchema& nested_list(const char* name, Access access, const ObjectSchema<U>& schema, Form form,
                            const char* catalogue, Presence presence, const char* description, ListSize size) {
    static_assert(std::is_same_v<Member<Access>, std::vector<U>>,
                  "the member is not a vector of what the schema describes");
    table_.objects(name, detail::Locate::in<T>(access), detail::kListMember<Member<Access>>, schema.table_, form,
                   catalogue, presence, description, size);
    return *this;
  }

  detail::FieldTable table_;
};

/// Adds the keys `source` and `reference`, which say where the object's figures come from.
template <class T, class Access>
void add_source_fields(ObjectSchema<T>& schema, Access access, Presence presence) {
  const auto kind = [access](auto& x) -> auto& {
    return std::invoke(access, x).kind;
  };
  const auto reference = [access](auto& x) -> auto& {
    return std::invoke(access, x).reference;
  };
  const char* says = "where the figures come from";
  if (presence == Presence::required) {
    schema.required("source", kind, detail::source_kind_spec(), says);
  } else {
    schema.optional("source", kind, detail::source_kind_spec(), says);
  }
  schema.optional("reference", reference, text().non_empty(),
                  "document with table or equation, or how it was measured");
  schema.check([access](const T& value, const Reporter& report) {
    const Source& source = std::invoke(access, value);
    if (source.reference.empty() && detail::needs_reference(source.kind)) {
      report.fail("source",
                  "missing key \"reference\", expected the document or the way of measuring behind the source");
    }
  });
}

/// Adds the keys that every catalogue entry has.
template <class T>
void add_entry_fields(ObjectSchema<T>& schema) {
  schema.optional("name", &T::name, text(), "name in the catalogue");
  schema.required("description", &T::description, text().non_empty(), "one line for lists");
}

}  // namespace kvsim::schema
