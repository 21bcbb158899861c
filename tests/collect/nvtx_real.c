/* SPDX-License-Identifier: Apache-2.0 */
/* The real NVTX headers as client: what our own nvtx_lite.h cannot prove. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("real");
    nvtxEventAttributes_t a = { 0 };
    nvtxPayloadSchemaAttr_t schema = { 0 };
    nvtxPayloadData_t data = { 0 };
    int number = 5;

    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    if (nvtxRangePushA("outer") != 0 || nvtxDomainRangePushEx(domain, &a) != 0)
        return 1;
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME;
    schema.name = "with payload";
    data.schemaId = nvtxPayloadSchemaRegister(domain, &schema);
    data.size = sizeof number;
    data.payload = &number;
    if (!nvtxDomainIsEnabled(domain) || nvtxRangePushPayload(domain, &data, 1) != 1 ||
        nvtxRangePopPayload(domain, NULL, 0) != 1)
        return 2;
    nvtxRangeEnd(nvtxRangeStartA("range"));
    return nvtxDomainRangePop(domain) != 0 || nvtxRangePop() != 0 ? 3 : 0;
}
