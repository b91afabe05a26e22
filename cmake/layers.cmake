# The house's rooms and the only edges allowed between them: room -> rooms it may include and link.
# A room is a folder of src/ (and apps/folio). tools: check_layers.cmake fails the build on any other #include.
set(FOLIO_ROOMS base cpu quant trace formats text kernels kvcache model sampling scheduler plan engine store api http server)

set(FOLIO_DEPS_base)
set(FOLIO_DEPS_cpu base)
set(FOLIO_DEPS_quant base)
set(FOLIO_DEPS_trace base)
set(FOLIO_DEPS_formats base cpu quant trace)
set(FOLIO_DEPS_text base cpu trace formats)
set(FOLIO_DEPS_kernels base cpu quant trace)
set(FOLIO_DEPS_kvcache base cpu quant trace)
set(FOLIO_DEPS_model base cpu quant trace formats kernels kvcache)
set(FOLIO_DEPS_sampling base cpu kernels)
set(FOLIO_DEPS_scheduler base quant trace kvcache)
set(FOLIO_DEPS_plan base cpu quant trace formats kernels kvcache model sampling)
set(FOLIO_DEPS_store base formats)
set(FOLIO_DEPS_api base formats)
set(FOLIO_DEPS_http base)
set(FOLIO_DEPS_engine base cpu quant trace formats text kernels kvcache model sampling scheduler plan)
set(FOLIO_DEPS_server base formats text engine api http)
# apps/folio may use every room.
set(FOLIO_DEPS_apps ${FOLIO_ROOMS})
