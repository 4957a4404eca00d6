#!/usr/bin/env bash
# A loop of a compute shader that counts its rounds, on llvmpipe, the processor's Vulkan driver of Mesa. Expected: as many rounds as the shader
# asks for, or a lost device where they take too long. Seen (Mesa 22.3.6-1+deb12u2 of Debian 12): the loop ends after 65,535 rounds, and the
# shader goes on as if it were done. The submission succeeds, nothing is reported, and the result is the sum of the first rounds.
# A loop over the rows of a long column, or over all items of a serial step, comes to an end too early where data are large.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download mesa-vulkan-drivers=22.3.6-1+deb12u2 libvulkan1=1.3.239.0-1 libvulkan-dev=1.3.239.0-1 glslc=2023.2-1 libllvm15 libdrm2 \
  libwayland-client0 libx11-xcb1 libxcb1 libxcb-dri3-0 libxcb-present0 libxcb-randr0 libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxshmfence1 \
  libxau6 libxdmcp6 libedit2 libffi8 libicu72 libbsd0 libmd0 libxml2 libz3-4 libzstd1 >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
cat >count.comp <<'S'
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Out { uint data[]; };
void main() {
    uint n = data[0], done = 0;
    for (uint i = 0; i < n; ++i) done += data[1];
    data[2] = done;
}
S
cat >count.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>
#define MUST(call)                                 \
    do {                                           \
        if ((call) != VK_SUCCESS) {                \
            fprintf(stderr, "%s failed\n", #call); \
            exit(2);                               \
        }                                          \
    } while (0)
static uint32_t code[4096];
int main(int argc, char **argv) {
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
    uint32_t one = 1;
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    MUST(vkCreateInstance(&(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app}, NULL,
                          &instance));
    VkResult r = vkEnumeratePhysicalDevices(instance, &one, &gpu);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) return 2;
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    vkGetPhysicalDeviceProperties2(gpu, &properties);
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    MUST(vkCreateDevice(
        gpu, &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues},
        NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkMemoryRequirements needs;
    uint32_t *data;
    MUST(vkCreateBuffer(
        device,
        &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 64, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT}, NULL,
        &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    MUST(vkAllocateMemory(device, &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size},
                          NULL, &memory));  // llvmpipe has one type, which the host sees
    MUST(vkBindBufferMemory(device, buffer, memory, 0));
    MUST(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&data));
    VkDescriptorSetLayout layout;
    VkPipelineLayout pipeline_layout;
    VkShaderModule module;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    MUST(vkCreateDescriptorSetLayout(device,
                                     &(VkDescriptorSetLayoutCreateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                                        .bindingCount = 1,
                                                                        .pBindings = &binding},
                                     NULL, &layout));
    MUST(vkCreatePipelineLayout(
        device,
        &(VkPipelineLayoutCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &layout},
        NULL, &pipeline_layout));
    FILE *file = fopen("count.spv", "rb");
    const size_t bytes = file ? fread(code, 1, sizeof code, file) : 0;
    MUST(vkCreateShaderModule(
        device, &(VkShaderModuleCreateInfo){.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code}, NULL,
        &module));
    const VkPipelineShaderStageCreateInfo stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                   .module = module,
                                                   .pName = "main"};
    MUST(vkCreateComputePipelines(
        device, NULL, 1,
        &(VkComputePipelineCreateInfo){.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .stage = stage, .layout = pipeline_layout},
        NULL, &pipeline));
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    MUST(vkCreateDescriptorPool(
        device,
        &(VkDescriptorPoolCreateInfo){
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size},
        NULL, &pool));
    MUST(vkAllocateDescriptorSets(device,
                                  &(VkDescriptorSetAllocateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                                 .descriptorPool = pool,
                                                                 .descriptorSetCount = 1,
                                                                 .pSetLayouts = &layout},
                                  &set));
    const VkDescriptorBufferInfo info = {buffer, 0, VK_WHOLE_SIZE};
    vkUpdateDescriptorSets(device, 1,
                           &(VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                                   .dstSet = set,
                                                   .descriptorCount = 1,
                                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                   .pBufferInfo = &info},
                           0, NULL);
    VkCommandPool commands;
    VkCommandBuffer list;
    MUST(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO}, NULL, &commands));
    MUST(vkAllocateCommandBuffers(device,
                                  &(VkCommandBufferAllocateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                                 .commandPool = commands,
                                                                 .commandBufferCount = 1},
                                  &list));
    MUST(vkBeginCommandBuffer(list, &(VkCommandBufferBeginInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO}));
    vkCmdBindPipeline(list, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(list, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(list, 1, 1, 1);
    MUST(vkEndCommandBuffer(list));
    printf("%s, %s\n", properties.properties.deviceName, driver.driverInfo);
    for (int i = 1; i < argc; ++i) {
        data[0] = (uint32_t)atoi(argv[i]), data[1] = 1, data[2] = 0;
        MUST(vkQueueSubmit(
            queue, 1, &(VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &list}, NULL));
        MUST(vkQueueWaitIdle(queue));
        printf("wanted %s rounds, got %u\n", argv[i], data[2]);
    }
    return 0;
}
C
root/usr/bin/glslc count.comp -o count.spv
cc count.c -o count -Iroot/usr/include "$libraries/libvulkan.so.1"
cat >lvp.json <<J
{"file_format_version": "1.0.0", "ICD": {"library_path": "$libraries/libvulkan_lvp.so", "api_version": "1.3.230"}}
J
LD_LIBRARY_PATH=$libraries:$PWD/root/lib/x86_64-linux-gnu VK_ICD_FILENAMES=$PWD/lvp.json MESA_SHADER_CACHE_DISABLE=true \
  ./count 1000 65535 65536 1000000 | tee said
grep -q 'Mesa 22.3.6' said || { echo "changed: another version"; exit 1; }
for line in "1000 rounds, got 1000" "65535 rounds, got 65535" "65536 rounds, got 65535" "1000000 rounds, got 65535"; do
  grep -qx "wanted $line" said || { echo "changed: not \"wanted $line\""; exit 1; }
done
echo "as described at the top of this file"
