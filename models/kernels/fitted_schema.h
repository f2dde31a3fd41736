#pragma once

#include "models/kernels/profile.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

/// The keys of a profile's `fitted`.
schema::ObjectSchema<FittedForms> fitted_forms_schema();
/// The keys of a profile's `tables`; times are checked against the peaks where the profile is read.
schema::ObjectSchema<MeasuredTables> measured_tables_schema();

/// Schema of routed experts (moe_schema.cpp).
schema::ObjectSchema<MoeForm> moe_form_schema();
/// Parts of several forms.
schema::ObjectSchema<FormError> form_error_schema();
schema::ObjectSchema<CachedStream> stream_schema();
schema::ObjectSchema<GemmTile> gemm_tile_schema();
schema::ScalarSpec fixed_kernel_time();

/// Share of a peak rate.
schema::ScalarSpec kernel_efficiency();
/// Share of the peak memory bandwidth, for data that mostly hits a cache; 0: none.
schema::ScalarSpec cached_efficiency();
/// A word for the number format of a KV cache.
schema::ScalarSpec number_format();

/// The keys of every fit: how far its rows go, how far it is off and where it comes from.
template <class Form>
void add_fit_fields(schema::ObjectSchema<Form>& s, const char* valid_to) {
  using schema::Presence;
  s.optional("valid_to", &Form::valid_to, schema::number().non_negative(), valid_to);
  s.object("error", &Form::error, form_error_schema(), Presence::optional, "how far it is off; left out: not known");
  add_source_fields(s, &Form::source, Presence::optional);
}

/// Fails the report where a table beats the machine it was measured on by more than 5 %, or needs a form that is not
/// there.
void check_against_physics(const KernelProfile& profile, const schema::Reporter& report);

}  // namespace kvsim::models
