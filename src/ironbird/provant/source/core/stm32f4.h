/* Registers of the STM32F407 that this firmware uses [RM0090]. */
#ifndef STM32F4_H
#define STM32F4_H
#include "start.h"

#define RCC_CR REG(0x40023800)
#define RCC_PLLCFGR REG(0x40023804)
#define RCC_CFGR REG(0x40023808)
#define RCC_AHB1ENR REG(0x40023830)
#define RCC_APB1ENR REG(0x40023840)
#define RCC_CSR REG(0x40023874)
#define FLASH_ACR REG(0x40023C00)
#define GPIOA 0x40020000u
#define GPIOB 0x40020400u
#define GPIOD 0x40020C00u
#define GPIO_MODER(p) REG((p) + 0x00)
#define GPIO_BSRR(p) REG((p) + 0x18)
#define GPIO_AFR(p, half) REG((p) + 0x20 + 4 * (half))
#define USART2 0x40004400u
#define USART3 0x40004800u
#define USART_SR(u) REG((u) + 0x00)
#define USART_DR(u) REG((u) + 0x04)
#define USART_BRR(u) REG((u) + 0x08)
#define USART_CR1(u) REG((u) + 0x0C)
#define USART_CR3(u) REG((u) + 0x14)
#define DMA1 0x40026000u
#define DMA_LIFCR REG(DMA1 + 0x08)
#define DMA_HIFCR REG(DMA1 + 0x0C)
#define DMA_CR(s) REG(DMA1 + 0x10 + 0x18 * (s))
#define DMA_NDTR(s) REG(DMA1 + 0x14 + 0x18 * (s))
#define DMA_PAR(s) REG(DMA1 + 0x18 + 0x18 * (s))
#define DMA_M0AR(s) REG(DMA1 + 0x1C + 0x18 * (s))
#define IWDG_KR REG(0x40003000)
#define IWDG_PR REG(0x40003004)
#define IWDG_RLR REG(0x40003008)
#define SYST_CSR REG(0xE000E010)
#define SYST_RVR REG(0xE000E014)
#define SYST_CVR REG(0xE000E018)
#define NVIC_ISER(n) REG(0xE000E100 + 4 * (n))
#define NVIC_IPR8(n) (*(volatile uint8_t *)(0xE000E400 + (n)))
#define SCB_ICSR REG(0xE000ED04)
#define SCB_SHPR3 REG(0xE000ED20)
#define SCB_SHCSR REG(0xE000ED24)
#define SCB_CFSR REG(0xE000ED28)

#define CORE_HZ 168000000u
#define APB1_HZ 42000000u
#endif
